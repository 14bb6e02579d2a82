// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package faults

import (
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// confidential are the messages that hold a secret.
var confidential = []protoreflect.FullName{
	"google.cloud.secretmanager.v1.SecretPayload",
	"google.cloud.secretmanager.v1.CloudSqlSingleUserCredentials",
}

// withoutSecrets returns the request as it is recorded: a message that holds a
// secret is there, and empty.
func withoutSecrets(req proto.Message) proto.Message {
	var found []protoreflect.FieldDescriptor
	req.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if f.Message() != nil && !f.IsList() && !f.IsMap() && slices.Contains(confidential, f.Message().FullName()) {
			found = append(found, f)
		}
		return true
	})
	if len(found) == 0 {
		return req
	}
	clean := proto.Clone(req)
	for _, f := range found {
		clean.ProtoReflect().Set(f, clean.ProtoReflect().NewField(f))
	}
	return clean
}
