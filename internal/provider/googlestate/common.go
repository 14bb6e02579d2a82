// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package googlestate

import (
	"maps"
	"strings"
	"time"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// Managed are the labels, or the annotations, that the source managed.
type Managed struct {
	// Own are those of the block itself.
	Own map[string]string
	// All are Own and those that the provider's configuration added.
	All map[string]string
	// Live is every one that the thing had.
	Live map[string]string
}

// managed reads the attributes of labels; all is empty where the provider's configuration adds none. A state of a time before the others has
// all labels in the first.
func (o *object) managed(own, all, live string) Managed {
	m := Managed{Own: o.textMap(own), Live: o.textMap(live)}
	if all != "" {
		m.All = o.textMap(all)
	}
	if m.All == nil {
		m.All = maps.Clone(m.Own)
	}
	if m.Live == nil {
		m.Live = maps.Clone(m.All)
	}
	for _, group := range []map[string]string{m.Own, m.All} {
		maps.DeleteFunc(group, func(k, _ string) bool { return ofPlatform(k) })
	}
	return m
}

// ofPlatform tells whether a label is Google's own, or its tools': goog-terraform-provisioned is one, which no configuration holds.
func ofPlatform(key string) bool {
	return strings.HasPrefix(key, "goog-") || value.SystemNamespace(key) != ""
}

// timeouts reads the block timeouts: what is not null, and is a duration.
func (o *object) timeouts() map[string]string {
	fields, ok := o.take("timeouts").(map[string]any)
	if !ok {
		return nil
	}
	out := map[string]string{}
	for _, name := range []string{"create", "read", "update", "delete"} {
		if s, ok := fields[name].(string); ok {
			if _, err := time.ParseDuration(s); err == nil {
				out[name] = s
			}
		}
	}
	return out
}

// keptOnDestroy returns the deletion_policy when it keeps the thing alive where Terraform destroys.
func (o *object) keptOnDestroy() string {
	if p := o.text("deletion_policy"); p != "" && p != "DELETE" {
		return p
	}
	return ""
}

// lastPart returns what follows the last slash: a name may be written as a full name or a link.
func lastPart(name string) string { return name[strings.LastIndex(name, "/")+1:] }
