// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package runner

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// helperVariable makes the test binary a small program instead, for tests of what another process sees.
const helperVariable = "RUNNER_TEST_HELPER"

func TestMain(m *testing.M) {
	if os.Getenv(helperVariable) == "without-init" {
		_, err := NewProcesses(Options{})
		fmt.Println(err)
		return
	}
	MaybeInit()
	if os.Getenv(helperVariable) == "launch-one" {
		launchOne()
		return
	}
	goleak.VerifyTestMain(m)
}

// launchOne is an emulator in small: it runs the task that the environment describes.
func launchOne() {
	p, err := NewProcesses(Options{Mode: os.Getenv("MODE")})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	a, err := p.Launch(
		Task{Command: []string{"sh", "-c", os.Getenv("SCRIPT"), os.Getenv("TOKEN")}},
		func(_, line string) { fmt.Println(line) },
	)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	<-a.Done()
	fmt.Printf("%+v mode %s %s\n", a.Result(), p.Mode(), p.Why())
}
