// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package providerdata

import "sync/atomic"

// Early is what a resource knows of the provider block while a configuration is
// validated, when no provider has been configured yet. Terraform validates the
// block before the resources that use it, and each block in a process of its own.
//
// The zero value refuses. It is safe for concurrent use.
type Early struct{ lenient atomic.Bool }

// Observe takes note of plan_validation as a provider block has it, "" for null.
// A value that is not known yet counts as the lenient one. So does, for good, a
// lenient value that was seen once: where several blocks share a process, as in
// a debugger or a test, no resource is refused for the block of another, and the
// plan makes up for what validation left out.
func (e *Early) Observe(planValidation string, unknown bool) {
	if unknown || planValidation == PlanValidationWarn {
		e.lenient.Store(true)
	}
}

// Refuses reports whether what a dated table rules out is refused by validation
// already. If not, it is left to the plan, which knows the provider's
// configuration.
func (e *Early) Refuses() bool { return !e.lenient.Load() }
