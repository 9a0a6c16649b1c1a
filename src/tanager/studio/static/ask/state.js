// What a tab knows about its question: evidence, likelihoods, the variable of interest. It outlives a visit to other pages.

export const state = { evidence: new Map(), soft: new Map(), target: null, value: 0, selected: null, view: null, tab: "questions", wanted: 0.5 };

/** Keep what fits the variables of another network. */
export function fitTo(variables, target) {
  const sizes = new Map(variables.map(({ name, values }) => [name, values.length]));
  for (const [name, place] of [...state.evidence]) if (!(place < (sizes.get(name) ?? 0))) state.evidence.delete(name);
  for (const [name, numbers] of [...state.soft]) if (numbers.length !== sizes.get(name)) state.soft.delete(name);
  if (!sizes.has(state.selected)) state.selected = null;
  if (!sizes.has(state.target)) state.target = target ?? variables[0]?.name ?? null;
  if (!(state.value < (sizes.get(state.target) ?? 0))) state.value = 0;
}

/** The same for a request. */
export function observed() {
  return { evidence: Object.fromEntries(state.evidence), soft: Object.fromEntries(state.soft) };
}

/** Set a value as evidence, or clear it if it was set. */
export function toggle(name, place) {
  if (state.evidence.get(name) === place) state.evidence.delete(name);
  else state.evidence.set(name, place);
  state.soft.delete(name);
}
