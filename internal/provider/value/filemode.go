// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package value

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

var (
	_ basetypes.StringTypable                    = FileModeType{}
	_ basetypes.StringValuableWithSemanticEquals = FileMode{}
)

// FileModeType is the type of attributes that hold the mode bits of a file as
// chmod writes them: "0440". It is a text, because HCL reads the number 0440 as
// 440.
type FileModeType struct{ basetypes.StringType }

// String names the type for messages about schemas.
func (FileModeType) String() string { return "value.FileModeType" }

// Equal reports whether o is this type.
func (FileModeType) Equal(o attr.Type) bool { _, ok := o.(FileModeType); return ok }

// ValueType returns the type's value.
func (FileModeType) ValueType(context.Context) attr.Value { return FileMode{} }

// ValueFromString makes a value of this type.
func (FileModeType) ValueFromString(_ context.Context, in basetypes.StringValue) (basetypes.StringValuable, diag.Diagnostics) {
	return FileMode{in}, nil
}

// ValueFromTerraform makes a value of this type.
func (t FileModeType) ValueFromTerraform(ctx context.Context, in tftypes.Value) (attr.Value, error) {
	s, err := stringFromTerraform(ctx, in)
	return FileMode{s}, err
}

// FileMode holds the mode bits of a file. "0440" and "440" are equal.
type FileMode struct{ basetypes.StringValue }

// NewFileMode returns a mode as written.
func NewFileMode(s string) FileMode { return FileMode{basetypes.NewStringValue(s)} }

// NewFileModeNull returns no mode.
func NewFileModeNull() FileMode { return FileMode{basetypes.NewStringNull()} }

// FileModeOf returns mode bits as chmod writes them, with a leading zero.
func FileModeOf(bits int32) FileMode { return NewFileMode(fmt.Sprintf("%04o", bits)) }

// Type returns the value's type.
func (FileMode) Type(context.Context) attr.Type { return FileModeType{} }

// Equal reports whether o is the same text.
func (m FileMode) Equal(o attr.Value) bool {
	other, ok := o.(FileMode)
	return ok && m.StringValue.Equal(other.StringValue)
}

// StringSemanticEquals reports whether o means the same bits.
func (m FileMode) StringSemanticEquals(ctx context.Context, o basetypes.StringValuable) (bool, diag.Diagnostics) {
	return equalBy(ctx, m.StringValue, o, func(a, b string) bool {
		x, errX := ParseFileMode(a)
		y, errY := ParseFileMode(b)
		return errX == nil && errY == nil && x == y
	})
}

// Bits returns the mode bits; 0 when there is no usable value.
func (m FileMode) Bits() int32 {
	if m.IsNull() || m.IsUnknown() {
		return 0
	}
	bits, err := ParseFileMode(m.ValueString())
	if err != nil {
		return 0
	}
	return bits
}

// ParseFileMode reads mode bits as chmod writes them, from 0001 to 0777. The
// error is for users.
func ParseFileMode(s string) (int32, error) {
	if s == "" {
		return 0, errors.New("the text is empty: write mode bits such as \"0440\"")
	}
	bits, err := strconv.ParseUint(strings.TrimPrefix(s, "0o"), 8, 32)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a file mode: write mode bits in octal, as chmod has them, such as \"0440\"", resourcename.Shorten(s))
	case bits == 0:
		return 0, fmt.Errorf("%q lets nobody read the file: write mode bits such as \"0440\", or leave the attribute out for the default", resourcename.Shorten(s))
	case bits <= 0o777 && bits&0o400 == 0:
		return 0, fmt.Errorf("%q does not let the file's owner read it: write mode bits in octal, as chmod has them, such as \"0440\" (256, which other interfaces take, is \"0400\" here)", resourcename.Shorten(s))
	case bits > 0o777:
		return 0, fmt.Errorf("%q is above \"0777\", the largest mode: write mode bits in octal, such as \"0440\"", resourcename.Shorten(s))
	}
	return int32(bits), nil
}

// IsFileMode accepts what [ParseFileMode] reads.
func IsFileMode() validator.String {
	return parses{"mode bits such as \"0440\"", "Invalid file mode", func(s string) error {
		_, err := ParseFileMode(s)
		return err
	}}
}
