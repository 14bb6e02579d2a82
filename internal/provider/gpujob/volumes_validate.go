// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	tfpath "github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/lazyregexp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// volumeNames checks the names of volumes.
type volumeNames struct{}

func (volumeNames) Description(context.Context) string { return "names of volumes" }

func (v volumeNames) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

var volumeShape = lazyregexp.New(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

func (volumeNames) ValidateMap(_ context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	elements := req.ConfigValue.Elements()
	for _, name := range sortedKeys(elements) {
		at := req.Path.AtMapKey(name)
		switch {
		case name == checkpointVolume:
			resp.Diagnostics.AddAttributeError(at, "Invalid volume name",
				"The name \"checkpoint\" belongs to the volume of the attribute checkpoint. Give this volume another name, or describe the bucket of the checkpoints in checkpoint.")
		case !volumeShape.MatchString(name):
			resp.Diagnostics.AddAttributeError(at, "Invalid volume name", fmt.Sprintf(
				"%q cannot be the name of a volume: use 1 to 63 lower-case letters, digits and hyphens, with a letter or digit at both ends.", resourcename.Shorten(name)))
		case elements[name].IsNull():
			resp.Diagnostics.AddAttributeError(at, "Invalid volume", fmt.Sprintf("The volume %s is null. Leave it out, or describe it.", name))
		}
	}
}

// volumeKinds are the attributes of which a volume has exactly one.
var volumeKinds = []string{"gcs", "nfs", "empty_dir", "secret", "cloud_sql"}

// oneKind checks what a volume is, and what only some kinds can have.
type oneKind struct{}

func (oneKind) Description(context.Context) string {
	return "exactly one of " + strings.Join(volumeKinds, ", ")
}

func (v oneKind) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (oneKind) ValidateObject(_ context.Context, req validator.ObjectRequest, resp *validator.ObjectResponse) {
	if !value.Known(req.ConfigValue) {
		return
	}
	name := lastKey(req.Path)
	attributes := req.ConfigValue.Attributes()
	var kinds []string
	for _, k := range volumeKinds {
		if attributes[k].IsUnknown() {
			return
		}
		if !attributes[k].IsNull() {
			kinds = append(kinds, k)
		}
	}
	switch len(kinds) {
	case 1:
		checkVolume(req.Path, name, kinds[0], attributes["mount_path"], attributes["read_only"], attributes["sub_path"], &resp.Diagnostics)
	case 0:
		resp.Diagnostics.AddAttributeError(req.Path, "Volume without a kind", fmt.Sprintf(
			"The volume %s says nothing about what it is. Write exactly one of %s, such as gcs = { bucket = \"my-data\" }.", name, strings.Join(volumeKinds, ", ")))
	default:
		resp.Diagnostics.AddAttributeError(req.Path, "Volume of two kinds", fmt.Sprintf(
			"The volume %s has %s, and a volume is of one kind. Keep one of them, and make another volume of each of the others.", name, strings.Join(kinds, " and ")))
	}
}

func checkVolume(at tfpath.Path, name, kind string, mountPath, readOnly, subPath interface {
	IsNull() bool
	IsUnknown() bool
	String() string
}, diags *diag.Diagnostics) {
	switch {
	case kind == "cloud_sql" && !mountPath.IsNull():
		diags.AddAttributeError(at.AtName("mount_path"), "Mount path of a Cloud SQL volume", fmt.Sprintf(
			"Cloud Run mounts Cloud SQL instances at %s, wherever else a job asks for it. Remove mount_path from the volume %s.", cloudSQLPath, name))
	case kind != "cloud_sql" && mountPath.IsNull():
		diags.AddAttributeError(at.AtName("mount_path"), "Volume without a mount path", fmt.Sprintf(
			"The volume %s has no mount_path, so that no task would see it. Write an absolute path, such as mount_path = \"/%[1]s\".", name))
	}
	if kind != "gcs" && kind != "nfs" && !readOnly.IsNull() {
		why := "a task can always write to it"
		switch kind {
		case "secret":
			why = "a task can never write to it"
		case "cloud_sql":
			why = "it is a socket"
		}
		diags.AddAttributeError(at.AtName("read_only"), "read_only does not go with this volume", fmt.Sprintf(
			"The volume %s is of the kind %s: %s. Remove read_only, which is for gcs and nfs.", name, kind, why))
	}
	if (kind == "secret" || kind == "cloud_sql") && !subPath.IsNull() {
		instead := "Remove sub_path."
		if kind == "secret" {
			instead = "Remove sub_path, and choose where each file lies by its path in secret.items."
		}
		diags.AddAttributeError(at.AtName("sub_path"), "sub_path does not go with this volume", fmt.Sprintf(
			"Cloud Run accepts no sub path for volumes of the kind %s, as %s is. %s", kind, name, instead))
	}
}

// lastKey returns the map key that a path ends with.
func lastKey(p tfpath.Path) string {
	step, _ := p.Steps().LastStep()
	if key, ok := step.(tfpath.PathStepElementKeyString); ok {
		return string(key)
	}
	return p.String()
}

// filePaths checks where the files of a secret lie.
type filePaths struct{}

func (filePaths) Description(context.Context) string { return "relative paths of files" }

func (v filePaths) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (filePaths) ValidateMap(_ context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	if !value.Known(req.ConfigValue) {
		return
	}
	elements := req.ConfigValue.Elements()
	if len(elements) == 0 {
		resp.Diagnostics.AddAttributeError(req.Path, "No files", "items is empty. Leave it out to have one file with the secret's name, or write the files, such as items = { \"token.txt\" = {} }.")
	}
	for _, name := range sortedKeys(elements) {
		switch {
		case elements[name].IsNull():
			resp.Diagnostics.AddAttributeError(req.Path.AtMapKey(name), "Invalid file", fmt.Sprintf("%s: the file %q is null. Leave it out, or write {} for the newest version.", req.Path, resourcename.Shorten(name)))
		case name == "" || path.IsAbs(name) || path.Clean(name) != name || name == "." || name == ".." || strings.HasPrefix(name, "../"):
			resp.Diagnostics.AddAttributeError(req.Path.AtMapKey(name), "Invalid path of a file", fmt.Sprintf(
				"%s: %q is not a path below the mount path: write one without a leading slash and without \".\" or \"..\", such as \"keys/token.txt\".", req.Path, resourcename.Shorten(name)))
		}
	}
}

var instanceShape = lazyregexp.New(`^([a-z0-9.-]+:)?[a-z0-9-]+:[a-z0-9-]+:[a-z0-9-]+$`)

// instances checks the connection names of Cloud SQL instances.
type instances struct{}

func (instances) Description(context.Context) string { return "connection names" }

func (v instances) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (instances) ValidateSet(_ context.Context, req validator.SetRequest, resp *validator.SetResponse) {
	if !value.Known(req.ConfigValue) {
		return
	}
	if len(req.ConfigValue.Elements()) == 0 {
		resp.Diagnostics.AddAttributeError(req.Path, "No Cloud SQL instance", "instances is empty. Write at least one connection name, \"PROJECT:REGION:INSTANCE\", or leave the volume out.")
	}
	for _, e := range req.ConfigValue.Elements() {
		s, ok := e.(types.String)
		if !ok || s.IsUnknown() {
			continue
		}
		if !instanceShape.MatchString(s.ValueString()) {
			resp.Diagnostics.AddAttributeError(req.Path.AtSetValue(e), "Invalid Cloud SQL instance", fmt.Sprintf(
				"%s: %q is not a connection name: write \"PROJECT:REGION:INSTANCE\", as the instance's page and \"gcloud sql instances describe\" show it.", req.Path, resourcename.Shorten(s.ValueString())))
		}
	}
}

func checkSubPath(s string) error {
	switch {
	case s == "":
		return errors.New("the text is empty: leave the attribute out to mount the whole volume")
	case strings.HasPrefix(s, "/"):
		return fmt.Errorf("%q begins with a slash: write the folder of the volume, %q", resourcename.Shorten(s), resourcename.Shorten(strings.TrimLeft(s, "/")))
	case strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("%q contains a control character: write a folder without", resourcename.Shorten(s))
	case slices.Contains(strings.Split(s, "/"), ".."):
		return fmt.Errorf("%q leads out of the volume: write a folder of it, such as \"data\"", resourcename.Shorten(s))
	}
	return nil
}

func checkServer(s string) error {
	switch {
	case s == "":
		return errors.New("the text is empty: write the server's IP address or host name")
	case net.ParseIP(s) != nil:
		return nil
	case strings.ContainsAny(s, "/ \t\r\n") || strings.Count(s, ":") > 0:
		return fmt.Errorf("%q is not a server: write its IP address or host name alone, such as \"10.0.0.2\", and the exported path in path", resourcename.Shorten(s))
	}
	return nil
}

func checkExport(s string) error {
	if !path.IsAbs(s) {
		return fmt.Errorf("%q is not an absolute path: write what the server exports, such as \"/share\"", resourcename.Shorten(s))
	}
	return nil
}

func checkMedium(s string) error {
	if _, ok := media[s]; ok {
		return nil
	}
	if lower := strings.ToLower(s); lower != s && media[lower] != 0 {
		return fmt.Errorf("%q is not how it is written here: write %q", s, lower)
	}
	return fmt.Errorf("%q is not a medium: write %q or %q, or leave the attribute out", resourcename.Shorten(s), mediumMemory, mediumDisk)
}

var versionShape = lazyregexp.New(`^[A-Za-z0-9_-]{1,63}$`)

func checkVersion(s string) error {
	switch {
	case s == "0":
		return errors.New("\"0\" is not a version: they are counted from 1; write one of them, or \"latest\"")
	case versionShape.MatchString(s):
		return nil
	case strings.Contains(s, "/versions/"):
		return fmt.Errorf("%q is a full name: write the version alone, %q", resourcename.Shorten(s), bareName(s))
	}
	return fmt.Errorf("%q is not a version: write a number, an alias or \"latest\"", resourcename.Shorten(s))
}
