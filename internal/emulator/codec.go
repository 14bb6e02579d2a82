// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"connectrpc.com/vanguard"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// codec is JSON as Google's front speaks it: fields of zero value are left out
// of answers, a field that it does not know refuses the request. Names and
// numbers of enums are both understood.
type codec struct {
	vanguard.JSONCodec
}

// newCodec returns the codec; with enumNumbers answers show enums as numbers.
func newCodec(enumNumbers bool) func(vanguard.TypeResolver) vanguard.Codec {
	return func(vanguard.TypeResolver) vanguard.Codec {
		// The types that are linked in, not the service's own: details of errors
		// and payloads of log entries are of other packages.
		return codec{vanguard.JSONCodec{
			MarshalOptions:   protojson.MarshalOptions{Resolver: protoregistry.GlobalTypes, UseEnumNumbers: enumNumbers},
			UnmarshalOptions: protojson.UnmarshalOptions{Resolver: protoregistry.GlobalTypes},
		}}
	}
}

var _ vanguard.RESTCodec = codec{}

// bodyFields names the field of the request that a message is when it is the
// whole body; paths in refusals begin with it. Messages of other types are the
// request itself.
var bodyFields = map[protoreflect.FullName]string{
	"google.cloud.run.v2.Job":              "job",
	"google.cloud.secretmanager.v1.Secret": "secret",
}

// confidential are the requests of which no value may stand in an error.
var confidential = []protoreflect.FullName{
	"google.cloud.secretmanager.v1.AddSecretVersionRequest",
	"google.cloud.secretmanager.v1.EnableManagedRotationRequest",
}

// Unmarshal implements vanguard.Codec.
func (c codec) Unmarshal(data []byte, msg proto.Message) error {
	err := c.JSONCodec.Unmarshal(data, msg)
	if err == nil {
		return nil
	}
	of := msg.ProtoReflect().Descriptor()
	return explain(err, data, of, bodyFields[of.FullName()])
}

// explain turns what the parser says into Google's words.
func explain(err error, data []byte, of protoreflect.MessageDescriptor, at string) error {
	bad := &errdetails.BadRequest{}
	var lines []string
	for _, u := range unknownNames(data, of, at) {
		lines = append(lines, u.GetDescription())
		bad.FieldViolations = append(bad.FieldViolations, u)
	}
	if len(lines) == 0 {
		_, text, _ := strings.Cut(strings.ReplaceAll(err.Error(), "\u00a0", " "), "proto: ")
		if slices.Contains(confidential, of.FullName()) {
			text = "A value is not of its field's type (payload.data is base64); it is not shown, because it may be a secret."
		}
		lines = []string{"Invalid JSON payload received. " + text}
		bad.FieldViolations = []*errdetails.BadRequest_FieldViolation{{Field: at, Description: lines[0]}}
	}
	refusal := connect.NewError(connect.CodeInvalidArgument, errors.New(strings.Join(lines, "\n")))
	if detail, err := connect.NewErrorDetail(bad); err == nil {
		refusal.AddDetail(detail)
	}
	return refusal
}

// unknownNames finds the names in the data that the message does not have, in
// the order of their paths.
func unknownNames(data []byte, of protoreflect.MessageDescriptor, at string) []*errdetails.BadRequest_FieldViolation {
	var found []*errdetails.BadRequest_FieldViolation
	if strings.HasPrefix(string(of.FullName()), "google.protobuf.") { // forms of their own
		return nil
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(data, &object) != nil {
		return nil
	}
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		field := of.Fields().ByJSONName(name)
		if field == nil {
			field = of.Fields().ByTextName(name)
		}
		if field == nil {
			where := ""
			if at != "" {
				where = fmt.Sprintf(" at '%s'", at)
			}
			found = append(found, &errdetails.BadRequest_FieldViolation{
				Field:       at,
				Description: fmt.Sprintf("Invalid JSON payload received. Unknown name %q%s: Cannot find field.", name, where),
			})
			continue
		}
		path := string(field.Name())
		if at != "" {
			path = at + "." + path
		}
		found = append(found, unknownIn(object[name], field, path)...)
	}
	return found
}

func unknownIn(data []byte, field protoreflect.FieldDescriptor, path string) []*errdetails.BadRequest_FieldViolation {
	var found []*errdetails.BadRequest_FieldViolation
	switch {
	case field.IsMap():
		var values map[string]json.RawMessage
		if field.MapValue().Message() == nil || json.Unmarshal(data, &values) != nil {
			return nil
		}
		for key, value := range values {
			found = append(found, unknownNames(value, field.MapValue().Message(), fmt.Sprintf("%s[%q]", path, key))...)
		}
	case field.Message() == nil:
	case field.IsList():
		var values []json.RawMessage
		if json.Unmarshal(data, &values) != nil {
			return nil
		}
		for i, value := range values {
			found = append(found, unknownNames(value, field.Message(), fmt.Sprintf("%s[%d]", path, i))...)
		}
	default:
		found = unknownNames(data, field.Message(), path)
	}
	return found
}
