// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"strings"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// An answer may repeat what was sent: a validator quotes the value that it does not like, a proxy the headers. What is nobody else's
// business is taken out of it before it becomes an error, because errors stand in logs of build systems.

// shortest is the length from which a value is taken out. Shorter ones hide nothing, and are part of too many words.
const shortest = 6

// private is a text that stands in no error, and what stands in its place.
type private struct{ text, instead string }

// clean takes private texts out of an error.
func (e *Error) clean(all []private) {
	for _, p := range all {
		e.Message = strings.ReplaceAll(e.Message, p.text, p.instead)
	}
}

// privateIn are the values of the environment variables of a job. What stands elsewhere in the job, such as the name of a bucket, is
// not private.
func privateIn(job *runpb.Job) []private {
	rest := proto.CloneOf(job)
	var env []*runpb.EnvVar
	for _, c := range rest.GetTemplate().GetTemplate().GetContainers() {
		env = append(env, c.GetEnv()...)
		c.Env = nil
	}
	return privateEnv(env, rest)
}

// privateInRun are the values of the environment variables that a run overrides.
func privateInRun(req *runpb.RunJobRequest) []private {
	rest := proto.CloneOf(req)
	var env []*runpb.EnvVar
	for _, c := range rest.GetOverrides().GetContainerOverrides() {
		env = append(env, c.GetEnv()...)
		c.Env = nil
	}
	return privateEnv(env, rest)
}

func privateEnv(env []*runpb.EnvVar, rest proto.Message) []private {
	if len(env) == 0 {
		return nil
	}
	public := prototext.MarshalOptions{}.Format(rest)
	var out []private
	for _, v := range env {
		if text := v.GetValue(); len(text) >= shortest && !strings.Contains(public, text) {
			out = append(out, private{text, "(the value of " + v.GetName() + ")"})
		}
	}
	return out
}
