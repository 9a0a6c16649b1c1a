// Plans of Python for other bindings.
#pragma once
#include "bindings.hpp"
#include "scoring_plan.hpp"

// The plan behind an object; refused where it is none, or has no form yet.
tanager::scoring::ScoringPlan &plan_of(nb::handle object);
