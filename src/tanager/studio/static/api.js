// Requests to the server, and the events that come from it.

const token = new URLSearchParams(location.search).get("token") ?? "";
const AUTHORIZED = { Authorization: `Bearer ${token}` };

export class StudioError extends Error {}

/** Ask for an action of a page: its result, or a StudioError with a sentence for people. */
export async function act(page, action, body = {}) {
  const response = await send(`/api/${page}/${action}`, JSON.stringify(body), { "Content-Type": "application/json" });
  const answer = await response.json();
  return answer.result;
}

/** The same where the answer is a file: it is saved as the browser saves files. */
export async function download(page, action, body = {}) {
  const response = await send(`/api/${page}/${action}`, JSON.stringify(body), { "Content-Type": "application/json" });
  const name = /filename="([^"]*)"/.exec(response.headers.get("Content-Disposition") ?? "")?.[1] ?? "file";
  const url = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
  return name;
}

/** Send a file; the answer has the name under which the server keeps it. */
export async function upload(file) {
  const response = await send(`/api/upload/${encodeURIComponent(file.name)}`, file, {});
  return (await response.json()).result.name;
}

async function send(path, body, headers) {
  let response;
  try {
    response = await fetch(path, { method: "POST", body, headers: { ...AUTHORIZED, ...headers } });
  } catch {
    throw new StudioError("The studio does not answer. Is it still running in its terminal?");
  }
  if (response.ok) return response;
  const answer = await response.json().catch(() => ({}));
  throw new StudioError(sentence(answer.error ?? `The studio answered with status ${response.status}.`));
}

function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Listen to events for ever: heard(kind, data); linked(true or false) when the connection comes and goes. */
export async function listen(heard, linked) {
  for (let pause = 250; ; pause = Math.min(2 * pause, 4000)) {
    try {
      const response = await fetch("/api/events", { headers: AUTHORIZED });
      if (response.status === 401) return linked(false, "The address has another token than this studio. Open the address that its terminal shows.");
      if (!response.ok) throw new StudioError("refused");
      pause = 250;
      linked(true);
      await read(response.body.getReader(), heard);
    } catch {
      // the server has gone, or is not there yet: try again
    }
    linked(false, "The studio does not answer; trying again …");
    await new Promise((done) => setTimeout(done, pause));
  }
}

async function read(reader, heard) {
  const decoder = new TextDecoder();
  for (let rest = ""; ; ) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const kind = /^event: (.*)$/m.exec(part)?.[1];
      const data = /^data: (.*)$/m.exec(part)?.[1];
      if (kind) heard(kind, JSON.parse(data));
    }
  }
}
