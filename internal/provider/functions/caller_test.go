// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package functions_test

import (
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
)

func TestMain(m *testing.M) { acctest.Main(m) }

// caller calls functions as Terraform does, in process.
type caller struct {
	*acctest.Protocol
	functions map[string]*tfprotov6.Function
}

func newCaller(t testing.TB) *caller {
	t.Helper()
	p := acctest.NewProtocol(t)
	return &caller{p, p.Schema.Functions}
}

// fails is what a test needs to end: of testing, or of a property.
type fails interface {
	Helper()
	Fatalf(format string, args ...any)
}

// call returns the result, or the text of the error and the argument that it is
// at.
func (c *caller) call(t fails, name string, args ...tftypes.Value) (result tftypes.Value, text string, at int64) {
	t.Helper()
	f := c.functions[name]
	if f == nil || len(args) != len(f.Parameters) {
		t.Fatalf("%s with %d arguments: there is %+v", name, len(args), f)
	}
	req := &tfprotov6.CallFunctionRequest{Name: name}
	for i, arg := range args {
		v, err := tfprotov6.NewDynamicValue(f.Parameters[i].Type, arg)
		if err != nil {
			t.Fatalf("%s: argument %s: %v", name, arg, err)
		}
		req.Arguments = append(req.Arguments, &v)
	}
	resp, err := c.CallFunction(timeless{}, req)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if resp.Error != nil {
		if resp.Error.FunctionArgument == nil {
			t.Fatalf("%s: an error at no argument: %s", name, resp.Error.Text)
		}
		return tftypes.Value{}, resp.Error.Text, *resp.Error.FunctionArgument
	}
	result, err = resp.Result.Unmarshal(f.Return.Type)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return result, "", -1
}

// timeless is a context that never ends.
type timeless struct{}

func (timeless) Deadline() (time.Time, bool) { return time.Time{}, false }
func (timeless) Done() <-chan struct{}       { return nil }
func (timeless) Err() error                  { return nil }
func (timeless) Value(any) any               { return nil }

// unknown is a value that is known only after other things were made.
type unknown struct{}

// value makes a value of Go values: text, numbers, maps as objects, and lists.
func value(v any) tftypes.Value {
	switch v := v.(type) {
	case nil:
		return tftypes.NewValue(tftypes.DynamicPseudoType, nil)
	case unknown:
		return tftypes.NewValue(tftypes.String, tftypes.UnknownValue)
	case tftypes.Value:
		return v
	case string:
		return tftypes.NewValue(tftypes.String, v)
	case bool:
		return tftypes.NewValue(tftypes.Bool, v)
	case int:
		return tftypes.NewValue(tftypes.Number, big.NewFloat(float64(v)))
	case float64:
		return tftypes.NewValue(tftypes.Number, big.NewFloat(v))
	case time.Duration:
		return tftypes.NewValue(tftypes.String, v.String())
	case []any:
		types, values := []tftypes.Type{}, []tftypes.Value{}
		for _, e := range v {
			values = append(values, value(e))
			types = append(types, values[len(values)-1].Type())
		}
		return tftypes.NewValue(tftypes.Tuple{ElementTypes: types}, values)
	case map[string]any:
		types, values := map[string]tftypes.Type{}, map[string]tftypes.Value{}
		for k, e := range v {
			values[k] = value(e)
			types[k] = values[k].Type()
		}
		return tftypes.NewValue(tftypes.Object{AttributeTypes: types}, values)
	}
	panic(fmt.Sprintf("a value of type %T", v))
}

// keys is an object that a function takes.
type keys = map[string]any

// textOf returns a result that is a text.
func textOf(t fails, v tftypes.Value) string {
	t.Helper()
	var s string
	if err := v.As(&s); err != nil {
		t.Fatalf("%s: %v", v, err)
	}
	return s
}

// numberOf returns a result that is a number.
func numberOf(t fails, v tftypes.Value) float64 {
	t.Helper()
	n := new(big.Float)
	if err := v.As(&n); err != nil {
		t.Fatalf("%s: %v", v, err)
	}
	f, _ := n.Float64()
	return f
}
