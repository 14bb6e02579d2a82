// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package functions

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// object is the argument of a function that takes an object with optional keys.
// Each key is read once, by the method of its type; what is wrong, and what is
// not known yet, is collected.
type object struct {
	values   map[string]attr.Value
	unknown  bool
	mistakes []string
}

// readObject takes an argument apart. keys are all that the object may have, and
// example is one that is right.
func readObject(arg types.Dynamic, keys []string, example string) *object {
	o := &object{}
	v := bare(arg)
	if v == nil || v.IsNull() {
		o.mistake("the argument is null: write an object such as %s", example)
		return o
	}
	switch v := v.(type) {
	case types.Object:
		o.unknown, o.values = v.IsUnknown(), v.Attributes()
	case types.Map:
		o.unknown, o.values = v.IsUnknown(), v.Elements()
	case types.Dynamic:
		o.unknown = true // of a type that is not known either
	default:
		o.mistake("the argument is %s: write an object such as %s", described(v), example)
	}
	for _, name := range slices.Sorted(maps.Keys(o.values)) {
		if slices.Contains(keys, name) {
			continue
		}
		guess := ""
		if near := nearest(name, keys); near != "" {
			guess = "; write " + near + " if that is meant"
		}
		o.mistake("%q is not a key of this object%s", resourcename.Shorten(name), guess)
	}
	if n := len(o.mistakes); n > 0 && o.values != nil {
		o.mistakes[n-1] += ". The keys are " + strings.Join(keys, ", ")
	}
	return o
}

func (o *object) mistake(format string, args ...any) {
	o.mistakes = append(o.mistakes, fmt.Sprintf(format, args...))
}

// err is what is wrong with the object; nil when nothing is.
func (o *object) err() *function.FuncError {
	if len(o.mistakes) == 0 {
		return nil
	}
	return refuse(0, errors.New(strings.Join(o.mistakes, ".\n")))
}

// refuse is the error at an argument. Terraform ends it with a full stop.
func refuse(argument int64, err error) *function.FuncError {
	return function.NewArgumentFuncError(argument, strings.TrimSuffix(err.Error(), "."))
}

// get returns the value of a key; ok is false where the default counts, or where
// the value is not known yet.
func (o *object) get(name string) (v attr.Value, ok bool) {
	v = bare(o.values[name])
	switch {
	case v == nil || v.IsNull():
		return nil, false
	case v.IsUnknown():
		o.unknown = true
		if _, open := v.(types.Dynamic); open {
			return nil, false
		}
	}
	return v, true
}

// required says that a key has to be there.
func (o *object) required(name, example string) {
	if v := bare(o.values[name]); !o.unknown && (v == nil || v.IsNull()) && len(o.mistakes) == 0 {
		o.mistake("%s is missing: write %[1]s = %q, for example", name, example)
	}
}

// duration reads a key that holds a span of time.
func (o *object) duration(name string, standard time.Duration, check func(time.Duration) error) time.Duration {
	v, ok := o.get(name)
	if !ok {
		return standard
	}
	s, ok := v.(types.String)
	if !ok {
		hint := `"90m"`
		if n, ok := v.(types.Number); ok && value.Known(n) && n.ValueBigFloat().Sign() > 0 {
			hint = strconv.Quote(n.ValueBigFloat().Text('f', -1) + "s")
		}
		o.mistake("%s is %s: write a duration in quotes, such as %s", name, described(v), resourcename.Shorten(hint))
		return standard
	}
	if s.IsUnknown() {
		return standard
	}
	d, err := readDuration(s.ValueString(), check)
	if err != nil {
		o.mistake("%s: %s", name, err)
	}
	return d
}

// readDuration reads a span of time and holds it to check.
func readDuration(s string, check func(time.Duration) error) (time.Duration, error) {
	d, err := value.ParseDuration(s)
	if err != nil {
		return 0, err
	}
	if err := check(d); err != nil {
		return 0, fmt.Errorf("%q %w", resourcename.Shorten(s), err)
	}
	return d, nil
}

// positive refuses what is no span of time to do something in.
func positive(d time.Duration) error {
	if d <= 0 {
		return errors.New(`is not more than zero: write a duration such as "90m"`)
	}
	return nil
}

// notNegative is for what may take no time.
func notNegative(d time.Duration) error {
	if d < 0 {
		return errors.New(`is less than zero: write "0s" or more`)
	}
	return nil
}

// number reads a key that holds a number, and tells how it was written.
func (o *object) number(name string, example string) (n *big.Float, ok bool) {
	v, ok := o.get(name)
	if !ok {
		return nil, false
	}
	number, ok := v.(types.Number)
	if !ok {
		hint := "a number such as " + example
		if s, ok := v.(types.String); ok {
			if n, err := strconv.ParseFloat(s.ValueString(), 64); err == nil && !math.IsInf(n, 0) && !math.IsNaN(n) {
				hint = "the number without quotes, " + strconv.FormatFloat(n, 'g', -1, 64)
			}
		}
		o.mistake("%s is %s: write %s", name, described(v), hint)
		return nil, false
	}
	if number.IsUnknown() {
		return nil, false
	}
	return number.ValueBigFloat(), true
}

// whole reads a key that holds a whole number of at least least.
func (o *object) whole(name string, standard, least int64) int64 {
	n, ok := o.number(name, strconv.FormatInt(standard, 10))
	if !ok {
		return standard
	}
	i, accuracy := n.Int64()
	switch {
	case accuracy != big.Exact:
		o.mistake("%s is %s: write a whole number, without a fraction and below %d", name, n.Text('g', 6), math.MaxInt64)
	case i < least:
		o.mistake("%s is %d: write %d or more", name, i, least)
	default:
		return i
	}
	return standard
}

// text reads a key that holds a text.
func (o *object) text(name, standard string) string {
	v, ok := o.get(name)
	if !ok {
		return standard
	}
	s, ok := v.(types.String)
	if !ok {
		o.mistake("%s is %s: write a text such as %q", name, described(v), standard)
		return standard
	}
	if s.IsUnknown() {
		return standard
	}
	return s.ValueString()
}

// bare takes a value out of the wrapping of an argument of any type; nil when
// there is none.
func bare(v attr.Value) attr.Value {
	for {
		d, ok := v.(types.Dynamic)
		if !ok || d.UnderlyingValue() == nil {
			return v
		}
		v = d.UnderlyingValue()
	}
}

// described is a value of the wrong type in words.
func described(v attr.Value) string {
	switch v := v.(type) {
	case types.String:
		if v.IsUnknown() {
			return "a text"
		}
		return fmt.Sprintf("the text %q", resourcename.Shorten(v.ValueString()))
	case types.Number:
		if v.IsUnknown() {
			return "a number"
		}
		return "the number " + v.ValueBigFloat().Text('g', 6)
	case types.Bool:
		if v.IsUnknown() {
			return "true or false"
		}
		return strconv.FormatBool(v.ValueBool())
	case types.List, types.Tuple:
		return "a list"
	case types.Set:
		return "a set"
	}
	return "an object"
}
