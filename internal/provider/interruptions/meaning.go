// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package interruptions

import "fmt"

// meaning says in one sentence, without a full stop, what happened to the
// attempt.
func (i interruption) meaning() string {
	if !i.preempted {
		if i.signal != nil {
			return "SIGTERM ended the program, which did not handle it: what was not saved by then is lost; the logs do not say who sent it"
		}
		return "the program was interrupted (SIGTERM) and asked for a retry with exit code 143; the logs do not say who sent it"
	}
	const platform = "the platform preempted the task; "
	switch {
	case i.exitCode != nil && *i.exitCode == exitSIGTERM:
		return platform + "the program handled SIGTERM and asked for a retry with exit code 143"
	case i.exitCode != nil && *i.exitCode == 0:
		return platform + "the program ended with exit code 0, so that the task counts as succeeded and is not retried"
	case i.exitCode != nil:
		return platform + fmt.Sprintf("the program ended with exit code %d", *i.exitCode)
	case i.signal != nil && *i.signal == sigTerm:
		return platform + "the program did not handle SIGTERM: what was not saved by then is lost"
	case i.signal != nil && *i.signal == sigKill:
		return platform + "the program still ran when the ten seconds of grace were over, and was killed"
	case i.signal != nil:
		return platform + fmt.Sprintf("signal %d ended the program", *i.signal)
	}
	return platform + "the logs do not say how the program ended"
}
