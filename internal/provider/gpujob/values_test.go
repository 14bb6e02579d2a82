// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob_test

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	terraform "github.com/resilientjob/terraform-provider-resilientjob/internal/acctest/core"
)

// The places in the configuration everything() that stand for the * of a path: each has the attribute in question.
func concrete(path string) string {
	for _, r := range [][2]string{
		{"volumes.*.gcs", "volumes.data.gcs"}, {"volumes.*.nfs", "volumes.share.nfs"}, {"volumes.*.empty_dir", "volumes.scratch.empty_dir"}, {"volumes.*.cloud_sql", "volumes.sql.cloud_sql"},
		{"volumes.*.secret.version", "volumes.token.secret.version"}, {"volumes.*.secret.items.*", "volumes.keys.secret.items.b"}, {"volumes.*.secret", "volumes.keys.secret"},
		{"volumes.*.sub_path", "volumes.share.sub_path"}, {"volumes.*", "volumes.data"}, {"secret_env.*", "secret_env.TOKEN"},
	} {
		if rest, ok := strings.CutPrefix(path, r[0]); ok {
			return r[1] + rest
		}
	}
	return path
}

// around is a configuration with what goes with the attribute of a path, out of everything(), and little else.
func around(path string) attrs {
	steps := strings.Split(path, ".")
	all := everything()
	set := attrs{}
	if steps[0] == "timeouts" && len(steps) > 1 {
		set["timeouts"] = attrs{steps[1]: "1h"}
	}
	switch v := all[steps[0]].(type) {
	case nil:
	case attrs:
		if (steps[0] == "volumes" || steps[0] == "secret_env") && len(steps) > 1 {
			set[steps[0]] = attrs{steps[1]: v[steps[1]]}
		} else {
			set[steps[0]] = v
		}
	default:
		set[steps[0]] = v
	}
	for _, companion := range map[string][]string{"parallelism": {"task_count"}, "memory": {"cpu"}, "cpu": {"memory"}}[steps[0]] {
		set[companion] = all[companion]
	}
	return set
}

// at returns the value at a dotted path, and whether it is there.
func at(t testing.TB, v tftypes.Value, path string) (tftypes.Value, bool) {
	t.Helper()
	for _, step := range strings.Split(path, ".") {
		if !keyed(v) {
			return v, false
		}
		next, ok := elements(t, v)[step]
		if !ok {
			return v, false
		}
		v = next
	}
	return v, true
}

// put replaces the value at a dotted path.
func put(t testing.TB, v tftypes.Value, path string, replacement tftypes.Value) tftypes.Value {
	t.Helper()
	step, rest, deeper := strings.Cut(path, ".")
	all := elements(t, v)
	if _, ok := all[step]; !ok {
		t.Fatalf("there is no %s in %s", path, v)
	}
	if deeper {
		all[step] = put(t, all[step], rest, replacement)
	} else {
		all[step] = replacement
	}
	return tftypes.NewValue(v.Type(), all)
}

// oddTexts are texts that somebody may write, by what they are.
var oddTexts = map[string]string{
	"empty": "", "blank": " ", "huge": strings.Repeat("x", 100_000), "huge path": "/" + strings.Repeat("é/", 50_000), "letters of others": "dünger/雪", "control": "a\x01\n\tb",
	"quotes": `"${x}"%s%!d(MISSING)`, "slashes": "//a//b/", "number": "-1", "big number": "99999999999999999999",
}

// oddValues are values of a type that somebody may write.
func oddValues(t testing.TB, typ tftypes.Type) map[string]tftypes.Value {
	t.Helper()
	out := map[string]tftypes.Value{"null": tftypes.NewValue(typ, nil), "unknown": tftypes.NewValue(typ, tftypes.UnknownValue)}
	text := func(s string) tftypes.Value { return tftypes.NewValue(tftypes.String, s) }
	switch typ := typ.(type) {
	case tftypes.List:
		listed(out, typ, typ.ElementType, text)
	case tftypes.Set:
		listed(out, typ, typ.ElementType, text)
	case tftypes.Map:
		element := func(e any) tftypes.Value { return toValue(t, typ.ElementType, e) }
		plain := element(attrsOrText(typ.ElementType))
		out["no elements"] = tftypes.NewValue(typ, map[string]tftypes.Value{})
		out["null element"] = tftypes.NewValue(typ, map[string]tftypes.Value{"a": element(nil)})
		out["unknown element"] = tftypes.NewValue(typ, map[string]tftypes.Value{"a": element(unknown{})})
		many := map[string]tftypes.Value{}
		for i := range 2000 {
			many[fmt.Sprintf("k%d", i)] = plain
		}
		out["many"] = tftypes.NewValue(typ, many)
		for name, s := range oddTexts {
			out[name+" key"] = tftypes.NewValue(typ, map[string]tftypes.Value{s: plain})
			if typ.ElementType.Is(tftypes.String) {
				out[name+" value"] = tftypes.NewValue(typ, map[string]tftypes.Value{"k": text(s)})
			}
		}
		if !typ.ElementType.Is(tftypes.String) {
			out["empty element"] = tftypes.NewValue(typ, map[string]tftypes.Value{"k": element(attrs{})})
		}
	case tftypes.Object:
		out["empty object"] = toValue(t, typ, attrs{}) // case 118
	default:
		switch {
		case typ.Is(tftypes.String):
			for name, s := range oddTexts {
				out[name] = text(s)
			}
		case typ.Is(tftypes.Number):
			for _, n := range []float64{-1 << 63, -1, 0, 1 << 31, 1<<63 - 1, 0.5} {
				out[fmt.Sprint(n)] = tftypes.NewValue(typ, big.NewFloat(n))
			}
			out["largest"] = tftypes.NewValue(typ, new(big.Float).SetInt64(1<<63-1))
			out["too large"] = tftypes.NewValue(typ, new(big.Float).SetMantExp(big.NewFloat(1), 2000))
		case typ.Is(tftypes.Bool):
			out["true"], out["false"] = tftypes.NewValue(typ, true), tftypes.NewValue(typ, false)
		default:
			t.Fatalf("nothing is known of the type %s", typ)
		}
	}
	return out
}

// attrsOrText is a plain element of a map.
func attrsOrText(typ tftypes.Type) any {
	object, ok := typ.(tftypes.Object)
	if !ok {
		return "v"
	}
	switch {
	case object.AttributeTypes["empty_dir"] != nil:
		return attrs{"mount_path": "/v", "empty_dir": attrs{}}
	case object.AttributeTypes["secret"] != nil:
		return attrs{"secret": "token"}
	}
	return attrs{}
}

// listed adds the values of a list or a set.
func listed(out map[string]tftypes.Value, typ, element tftypes.Type, text func(string) tftypes.Value) {
	one := func(e tftypes.Value) tftypes.Value { return tftypes.NewValue(typ, []tftypes.Value{e}) }
	out["no elements"] = tftypes.NewValue(typ, []tftypes.Value{})
	out["null element"] = one(tftypes.NewValue(element, nil))
	out["unknown element"] = one(tftypes.NewValue(element, tftypes.UnknownValue))
	var many []tftypes.Value
	for i := range 2000 {
		many = append(many, text(fmt.Sprintf("k%d", i)))
	}
	out["many"] = tftypes.NewValue(typ, many)
	for name, s := range oddTexts {
		out[name+" element"] = one(text(s))
	}
}

// elsewhere are the attributes at which a rule of several speaks, by the one that was changed.
var elsewhere = map[string][]string{
	"task_count": {"parallelism"}, "task_timeout": {"checkpoint.interval"}, "checkpoint.write_time": {"checkpoint.interval"}, "checkpoint.restore_time": {"checkpoint.interval"},
	"cpu": {"memory"}, "memory": {"cpu"}, "gpu_type": {"cpu", "memory"},
}

// longest is how much a message may say.
const longest = 1200

// Every attribute, also the nested ones, with every odd value, for a new job and for one that exists: no crash, no plan that Terraform would
// refuse, and at most one message for one mistake, at the attribute, of a length that can be read (cases 118, 121).
func TestOddValues(t *testing.T) {
	t.Parallel()
	c := newCore(t)
	there := c.apply(c.none(), c.job(everything()))
	all, configurable := attributePaths("", c.schema.Block.Attributes)
	tried := 0
	for _, path := range all {
		if !configurable[path] {
			continue
		}
		where := concrete(path)
		base := c.job(around(where))
		was, ok := at(t, base, where)
		if !ok {
			t.Errorf("%s: there is no %s to change", path, where)
			continue
		}
		for what, v := range oddValues(t, was.Type()) {
			tried++
			config := put(t, base, where, v)
			lives := map[string]*life{"there": there}
			if what == "null" || strings.HasPrefix(what, "unknown") || what == "empty object" || what == "no elements" {
				lives["new"] = c.none()
			}
			for state, l := range lives {
				c.try(fmt.Sprintf("%s: %s, %s", where, what, state), path, where, what, l, config)
			}
		}
	}
	if tried < 700 {
		t.Errorf("only %d values were tried", tried)
	}
}

// try validates and plans one odd configuration.
func (c *core) try(name, path, where, what string, l *life, config tftypes.Value) {
	c.t.Helper()
	p := c.plan(l, config)
	if strings.HasPrefix(what, "unknown") && len(p.errors) > 0 {
		c.t.Errorf("%s: an unknown value is an error: %q", name, p.errors)
	}
	required := func(s string) bool { return strings.Contains(s, ": Missing Configuration for Required Attribute: ") } // each is a mistake of its own
	if len(slices.DeleteFunc(slices.Clone(p.errors), required)) > 1 && what != "many" {
		c.t.Errorf("%s: %d messages: %s", name, len(p.errors), short(p.errors))
	}
	for _, message := range append(slices.Clone(p.errors), p.warnings...) {
		_, message, _ = strings.Cut(message, ": ") // the path may be as long as it was written
		if len(message) > longest {
			c.t.Errorf("%s: a message of %d characters: %.300s", name, len(message), message)
		}
		if strings.ContainsAny(message, "\x01") || strings.Contains(message, "MISSING") && what != "quotes" && !strings.HasPrefix(what, "quotes ") {
			c.t.Errorf("%s: a raw message: %.300q", name, message)
		}
	}
	for _, message := range p.errors {
		spoken, _, _ := strings.Cut(message, ": ")
		right := strings.HasPrefix(spoken, where) || strings.HasPrefix(where, spoken+".") || slices.Contains(elsewhere[path], spoken)
		if !right {
			c.t.Errorf("%s: the message is at %s: %.200s", name, spoken, message)
		}
	}
}

func short(messages []string) string {
	out := make([]string, len(messages))
	for i, m := range messages {
		out[i] = fmt.Sprintf("%.160s", m)
	}
	return strings.Join(out, "\n\t")
}

// The attributes without which the plan does not know what will be granted, and how much can be used.
var (
	needGrants = []string{"name", "project", "service_account", "service_account_id", "checkpoint", "checkpoint.bucket", "checkpoint.role", "checkpoint.grant", "secret_env", "secret_env.*.secret", "secret_env.*.grant",
		"volumes", "volumes.*.read_only", "volumes.*.gcs", "volumes.*.gcs.bucket", "volumes.*.gcs.grant", "volumes.*.secret", "volumes.*.secret.secret", "volumes.*.secret.grant", "location"}
	needExposure = []string{"gpu_type", "task_count", "max_retries", "task_timeout"}
)

// An attribute, or an element of it, that is known only at apply: the plan knows whatever else it can, and nothing that it knew turns out to be
// otherwise, whether the value comes or there is none.
func TestUnknownBecomesKnown(t *testing.T) {
	t.Parallel()
	c := newCore(t)
	there := c.apply(c.none(), c.job(everything()))
	fresh := newCore(t) // for jobs that are made
	all, configurable := attributePaths("", c.schema.Block.Attributes)
	for _, path := range all {
		if !configurable[path] {
			continue
		}
		where := concrete(path)
		base := around(where)
		maps.Copy(base, map[string]any{"checkpoint": everything()["checkpoint"]})
		known := c.job(base)
		v, ok := at(t, known, where)
		if !ok {
			t.Errorf("%s: there is no %s", path, where)
			continue
		}
		if v.IsNull() {
			v = sample(t, path, v.Type())
			known = put(t, known, where, v)
			for _, other := range map[string][]string{"network.connector": {"network.network", "network.tags"}, "binary_authorization.policy": {"binary_authorization.use_default", "binary_authorization.breakglass_justification"}}[path] {
				now, _ := at(t, known, other)
				known = put(t, known, other, tftypes.NewValue(now.Type(), nil))
			}
		}
		open := map[string]tftypes.Value{"all": tftypes.NewValue(v.Type(), tftypes.UnknownValue)}
		if part, ok := partly(t, v); ok {
			open["a part"] = part
		}
		for what, u := range open {
			name := path + ", " + what
			first := c.plan(c.none(), put(t, known, where, u))
			if len(first.errors) > 0 {
				t.Errorf("%s: %q", name, first.errors)
				continue
			}
			if what == "all" {
				for attribute, need := range map[string][]string{"grants": needGrants, "exposure": needExposure} {
					got, _ := at(t, first.state, attribute)
					equal(t, name+": the plan knows "+attribute, got.IsFullyKnown(), !slices.Contains(need, path))
				}
			}
			update := c.plan(there, put(t, known, where, u))
			for outcome, final := range map[string]tftypes.Value{"comes": v, "is null": tftypes.NewValue(v.Type(), nil)} {
				config := put(t, known, where, final)
				if outcome == "is null" && (what != "all" || len(c.validate(config)) > 0) {
					continue
				}
				second := c.plan(c.none(), config)
				for _, fault := range terraform.Incompatible(first.state, second.state) {
					t.Errorf("%s %s: another plan: %s", name, outcome, fault)
				}
				for _, fault := range terraform.Incompatible(update.state, c.plan(there, config).state) {
					t.Errorf("%s %s: another plan of an update: %s", name, outcome, fault)
				}
				if outcome == "comes" && what == "all" && path != "name" && path != "project" {
					fresh.comeTrue(name, put(t, put(t, known, where, u), "name", toValue(t, tftypes.String, fresh.w.job.Name)), put(t, config, "name", toValue(t, tftypes.String, fresh.w.job.Name)))
				}
			}
		}
	}
}

// comeTrue makes a job whose configuration is known by then, and destroys it.
func (c *core) comeTrue(name string, open, config tftypes.Value) {
	c.t.Helper()
	first, second := c.plan(c.none(), open), c.plan(c.none(), config)
	if len(second.errors) > 0 {
		c.t.Errorf("%s: %q", name, second.errors)
		return
	}
	l, errs, _ := c.carryOut(second)
	if len(errs) > 0 {
		c.t.Errorf("%s: the apply says %q", name, errs)
	}
	for _, fault := range terraform.Incompatible(first.state, l.state) {
		c.t.Errorf("%s: the apply makes something else: %s", name, fault)
	}
	c.destroy(l)
}

// sample is a value for an attribute that everything() leaves out.
func sample(t testing.TB, path string, typ tftypes.Type) tftypes.Value {
	t.Helper()
	v, ok := map[string]any{
		"project": "acctest-project", "location": "us-central1", "gpu_type": "nvidia-l4", "service_account": trainer, "service_account_id": "my-trainer", "cancel_running_executions": true,
		"secret_env.*.version": "1", "secret_env.*.grant": true, "checkpoint.mount_path": "/a", "checkpoint.role": "roles/storage.objectAdmin", "checkpoint.grant": true, "checkpoint.per_task": true,
		"checkpoint.write_time": "10s", "checkpoint.restore_time": "10s", "checkpoint.work_time": "30m", "network.subnetwork": "sub", "network.connector": "projects/p/locations/us-central1/connectors/c",
		"network.egress": "ALL_TRAFFIC", "binary_authorization.policy": "projects/p/platforms/cloudRun/policies/a", "volumes.*.gcs.grant": true, "volumes.*.empty_dir.medium": "memory",
		"volumes.*.secret.version": "1", "volumes.*.secret.grant": true, "volumes.*.secret.items.*.version": "1", "volumes.*.secret.items.*.mode": "0400",
		"timeouts": attrs{"create": "1h"},
	}[path]
	if !ok {
		t.Fatalf("no value for %s", path)
	}
	return toValue(t, typ, v)
}

// partly returns a list, a set or a map of which one element is unknown.
func partly(t testing.TB, v tftypes.Value) (tftypes.Value, bool) {
	t.Helper()
	switch typ := v.Type().(type) {
	case tftypes.Map:
		all := elements(t, v)
		for k := range all {
			all[k] = tftypes.NewValue(typ.ElementType, tftypes.UnknownValue)
			return tftypes.NewValue(typ, all), true
		}
	case tftypes.List, tftypes.Set:
		var all []tftypes.Value
		if err := v.As(&all); err != nil || len(all) == 0 {
			return v, false
		}
		all = slices.Clone(all)
		all[0] = tftypes.NewValue(all[0].Type(), tftypes.UnknownValue)
		return tftypes.NewValue(v.Type(), all), true
	}
	return v, false
}
