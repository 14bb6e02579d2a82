// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"github.com/zclconf/go-cty/cty/msgpack"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider"
)

// The provider's functions in expressions, called as Terraform calls them. HCL
// makes the message of an error, here as there.

// providerFunctions returns the functions by their name in a configuration.
func providerFunctions() (map[string]function.Function, error) {
	server, err := providerserver.NewProtocol6WithError(provider.New("test", env())())()
	if err != nil {
		return nil, err
	}
	offered, err := server.GetFunctions(context.Background(), &tfprotov6.GetFunctionsRequest{})
	if err != nil {
		return nil, err
	}
	all := map[string]function.Function{}
	for name, f := range offered.Functions {
		result, err := typeOf(f.Return.Type)
		if err != nil {
			return nil, err
		}
		spec := &function.Spec{Type: function.StaticReturnType(result)}
		var params []cty.Type
		for _, p := range f.Parameters {
			typ, err := typeOf(p.Type)
			if err != nil {
				return nil, err
			}
			params = append(params, typ)
			spec.Params = append(spec.Params, function.Parameter{Name: p.Name, Type: typ, AllowNull: p.AllowNullValue, AllowUnknown: p.AllowUnknownValues, AllowDynamicType: true})
		}
		spec.Impl = func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			req := &tfprotov6.CallFunctionRequest{Name: name}
			for i, arg := range args {
				raw, err := msgpack.Marshal(arg, params[i])
				if err != nil {
					return cty.NilVal, err
				}
				req.Arguments = append(req.Arguments, &tfprotov6.DynamicValue{MsgPack: raw})
			}
			resp, err := server.CallFunction(context.Background(), req)
			switch {
			case err != nil:
				return cty.NilVal, err
			case resp.Error != nil && resp.Error.FunctionArgument != nil:
				return cty.NilVal, function.NewArgErrorf(int(*resp.Error.FunctionArgument), "%s", resp.Error.Text)
			case resp.Error != nil:
				return cty.NilVal, errors.New(resp.Error.Text)
			}
			return msgpack.Unmarshal(resp.Result.MsgPack, result)
		}
		all["provider::resilientjob::"+name] = function.New(spec)
	}
	return all, nil
}

// typeOf is a type of the protocol as HCL has it.
func typeOf(typ tftypes.Type) (cty.Type, error) {
	raw, err := json.Marshal(typ)
	if err != nil {
		return cty.NilType, err
	}
	return ctyjson.UnmarshalType(raw)
}

// output evaluates the expression of an output, and returns what Terraform says
// of it. A path is the parameter that is to blame.
func output(t testing.TB, expr hclsyntax.Expression) []*tfprotov6.Diagnostic {
	t.Helper()
	functions, err := providerFunctions()
	if err != nil {
		t.Fatal(err)
	}
	scope := surroundings.NewChild()
	scope.Functions = functions
	_, diags := expr.Value(scope)
	var said []*tfprotov6.Diagnostic
	for _, d := range diags {
		out := &tfprotov6.Diagnostic{Severity: tfprotov6.DiagnosticSeverityError, Summary: d.Summary, Detail: d.Detail}
		if d.Severity == hcl.DiagWarning {
			out.Severity = tfprotov6.DiagnosticSeverityWarning
		}
		if name := quotedText.FindStringSubmatch(d.Detail); name != nil {
			out.Attribute = tftypes.NewAttributePath().WithAttributeName(name[1])
		}
		said = append(said, out)
	}
	return said
}
