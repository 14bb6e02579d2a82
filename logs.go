// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package main

import "strings"

// quietLogs keeps the framework from writing what nobody reads. The libraries write every step at the level trace and leave it to Terraform
// to drop the lines; with a hundred resources that is a third of the time of a plan. Terraform shows a provider's log only when a variable
// that begins with TF_LOG is set, and the provider inherits those: then, and in a debugger, all of it is written as ever.
func quietLogs(environ []string, setenv func(key, value string) error) error {
	for _, variable := range environ {
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "TF_LOG") && value != "" {
			return nil
		}
	}
	for _, name := range []string{"TF_LOG_SDK", "TF_LOG_SDK_PROTO", "TF_LOG_SDK_FRAMEWORK"} {
		if err := setenv(name, "ERROR"); err != nil {
			return err
		}
	}
	return nil
}
