// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package value

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/lazyregexp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

var (
	_ basetypes.StringTypable                    = QuantityType{}
	_ basetypes.StringValuableWithSemanticEquals = Quantity{}
)

// QuantityType is the type of attributes that hold an amount of CPU or memory
// as a Kubernetes quantity, such as "8", "8000m" or "32Gi".
type QuantityType struct{ basetypes.StringType }

// String names the type for developers.
func (QuantityType) String() string { return "value.QuantityType" }

// Equal reports whether o is the same type.
func (QuantityType) Equal(o attr.Type) bool { _, ok := o.(QuantityType); return ok }

// ValueType returns an empty value of the type.
func (QuantityType) ValueType(context.Context) attr.Value { return Quantity{} }

// ValueFromString wraps a plain string value.
func (QuantityType) ValueFromString(_ context.Context, in basetypes.StringValue) (basetypes.StringValuable, diag.Diagnostics) {
	return Quantity{in}, nil
}

// ValueFromTerraform converts a protocol value.
func (t QuantityType) ValueFromTerraform(ctx context.Context, in tftypes.Value) (attr.Value, error) {
	s, err := stringFromTerraform(ctx, in)
	return Quantity{s}, err
}

// Quantity is a value of [QuantityType].
type Quantity struct{ basetypes.StringValue }

// NewQuantity returns a known value with the spelling s, unchecked.
func NewQuantity(s string) Quantity { return Quantity{basetypes.NewStringValue(s)} }

// NewQuantityNull returns the null value.
func NewQuantityNull() Quantity { return Quantity{basetypes.NewStringNull()} }

// NewQuantityUnknown returns the value that is not known yet.
func NewQuantityUnknown() Quantity { return Quantity{basetypes.NewStringUnknown()} }

// Type returns the type of the value.
func (Quantity) Type(context.Context) attr.Type { return QuantityType{} }

// Equal reports whether o is a quantity with the same spelling.
func (q Quantity) Equal(o attr.Value) bool {
	other, ok := o.(Quantity)
	return ok && q.StringValue.Equal(other.StringValue)
}

// StringSemanticEquals reports whether both spellings are the same amount.
func (q Quantity) StringSemanticEquals(ctx context.Context, o basetypes.StringValuable) (bool, diag.Diagnostics) {
	return equalBy(ctx, q.StringValue, o, func(a, b string) bool {
		x, errX := ParseQuantity(a)
		y, errY := ParseQuantity(b)
		return errX == nil && errY == nil && x.Cmp(y) == 0
	})
}

var errNoQuantity = errors.New("the quantity has no value yet")

// Quantity returns the amount. Null, unknown and misspelt values are errors; a
// caller asks for null and unknown first.
func (q Quantity) Quantity() (resource.Quantity, error) {
	if q.IsNull() || q.IsUnknown() {
		return resource.Quantity{}, errNoQuantity
	}
	return ParseQuantity(q.ValueString())
}

// CPUMilli returns an amount of CPU in thousandths of a vCPU.
func (q Quantity) CPUMilli() (int64, error) {
	if q.IsNull() || q.IsUnknown() {
		return 0, errNoQuantity
	}
	return ParseCPU(q.ValueString())
}

// MemoryBytes returns an amount of memory in bytes.
func (q Quantity) MemoryBytes() (int64, error) {
	if q.IsNull() || q.IsUnknown() {
		return 0, errNoQuantity
	}
	return ParseMemory(q.ValueString())
}

// ParseQuantity reads a Kubernetes quantity. The error is for users.
func ParseQuantity(s string) (resource.Quantity, error) {
	q, err := resource.ParseQuantity(s)
	if err == nil {
		return q, nil
	}
	if guess := guessQuantity(s); guess != "" {
		return resource.Quantity{}, fmt.Errorf("%q is not a quantity: write %q", resourcename.Shorten(s), guess)
	}
	return resource.Quantity{}, fmt.Errorf("%q is not a quantity: write a number, with a unit where one is needed, such as \"4\", \"4000m\" or \"16Gi\"", resourcename.Shorten(s))
}

// ParseCPU reads an amount of CPU and returns thousandths of a vCPU. The error
// is for users.
func ParseCPU(s string) (int64, error) {
	q, err := ParseQuantity(s)
	if err != nil {
		return 0, err
	}
	if q.Sign() <= 0 {
		return 0, fmt.Errorf("%q is not more than zero: write an amount of CPU such as \"4\" or \"4000m\"", resourcename.Shorten(s))
	}
	milli, ok := exact(q, resource.Milli)
	if !ok {
		return 0, fmt.Errorf("%q is not an amount of CPU: write vCPUs with at most three decimals, such as \"4\" or \"4000m\"", resourcename.Shorten(s))
	}
	return milli, nil
}

// ParseMemory reads an amount of memory and returns bytes. The error is for
// users.
func ParseMemory(s string) (int64, error) {
	q, err := ParseQuantity(s)
	if err != nil {
		return 0, err
	}
	if q.Sign() <= 0 {
		return 0, fmt.Errorf("%q is not more than zero: write an amount of memory such as \"16Gi\"", resourcename.Shorten(s))
	}
	if n, isMilli := strings.CutSuffix(s, "m"); isMilli {
		// Everyone means mebibytes; Kubernetes means thousandths of a byte.
		return 0, fmt.Errorf("%q is not an amount of memory: \"m\" means thousandths of a byte; write %q", resourcename.Shorten(s), n+"Mi")
	}
	bytes, ok := exact(q, 0)
	if !ok {
		return 0, fmt.Errorf("%q is not a whole number of bytes below 8Ei: write an amount of memory such as \"16Gi\"", resourcename.Shorten(s))
	}
	return bytes, nil
}

// exact returns q in the unit 10^scale, and whether it is a whole number of
// them that fits. Kubernetes itself rounds up without a word.
func exact(q resource.Quantity, scale resource.Scale) (int64, bool) {
	n := q.ScaledValue(scale)
	if n == math.MaxInt64 || n == math.MinInt64 {
		return 0, false
	}
	back := resource.NewScaledQuantity(n, scale)
	return n, back.Cmp(q) == 0
}

// APICPU is how an amount of CPU is sent to Google: in thousandths, as "8000m".
// Cloud Run answers so itself, and a client that sent "8" was refused.
func APICPU(milli int64) string { return strconv.FormatInt(milli, 10) + "m" }

// APIMemory is how an amount of memory is sent to Google: the shortest spelling,
// which is a binary unit wherever the amount has one.
func APIMemory(bytes int64) string { return FormatMemory(bytes) }

// FormatCPU returns the shortest spelling of thousandths of a vCPU: "8", "1500m".
func FormatCPU(milli int64) string {
	if milli%1000 == 0 {
		return strconv.FormatInt(milli/1000, 10)
	}
	return APICPU(milli)
}

var memoryUnits = []struct {
	suffix string
	bytes  int64
}{
	{"Ei", 1 << 60}, {"Pi", 1 << 50}, {"Ti", 1 << 40}, {"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10},
	{"E", 1e18}, {"P", 1e15}, {"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}, {"", 1},
}

// FormatMemory returns the shortest spelling of bytes: "32Gi", "16G", "1000001".
// Of two that are equally short, the binary one.
func FormatMemory(bytes int64) string {
	shortest := ""
	for _, u := range memoryUnits {
		if bytes%u.bytes != 0 {
			continue
		}
		s := strconv.FormatInt(bytes/u.bytes, 10) + u.suffix
		if shortest == "" || len(s) < len(shortest) {
			shortest = s
		}
	}
	return shortest
}

var quantityWords = lazyregexp.New(`^(\d+(?:\.\d+)?)(vcpus?|cpus?|cores?|[kmgtpe]i?b?)$`)

// guessQuantity returns what the writer of a misspelt quantity probably meant,
// or nothing. "16GB" is guessed as "16Gi": whoever asks for memory in GB means
// the unit in which it is sold.
func guessQuantity(s string) string {
	compact := strings.ToLower(strings.Join(strings.Fields(s), ""))
	m := quantityWords.FindStringSubmatch(compact)
	if m == nil {
		return ""
	}
	if strings.Contains("vcpus cpus cores", m[2]) && len(m[2]) > 2 {
		return m[1]
	}
	return m[1] + strings.ToUpper(m[2][:1]) + "i"
}
