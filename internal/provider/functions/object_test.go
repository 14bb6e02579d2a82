// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package functions_test

import (
	"math/big"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"pgregory.net/rapid"
)

// What is wrong with an object is said of the key, and of every key.
func TestObjectRefuses(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	list := []any{"a"}
	for _, test := range []struct {
		name string
		arg  any
		want []string
	}{
		{"exposure", "12h", []string{`the argument is the text "12h": write an object such as { task_timeout = "12h" }`}},
		{"exposure", 12, []string{"the argument is the number 12:"}},
		{"exposure", true, []string{"the argument is true:"}},
		{"exposure", list, []string{"the argument is a list:"}},
		{"exposure", nil, []string{"the argument is null:"}},
		{"exposure", keys{"task_timeout": 3600}, []string{`task_timeout is the number 3600: write a duration in quotes, such as "3600s"`}},
		{"exposure", keys{"task_timeout": true}, []string{`task_timeout is true: write a duration in quotes, such as "90m"`}},
		{"exposure", keys{"task_timeout": list}, []string{"task_timeout is a list:"}},
		{"exposure", keys{"task_timeout": keys{"hours": 1}}, []string{"task_timeout is an object:"}},
		{"exposure", keys{"task_timeout": "12 hours"}, []string{`task_timeout: "12 hours" is not a duration: write "12h"`}},
		{"exposure", keys{"task_timeout": "0s"}, []string{`task_timeout: "0s" is not more than zero`}},
		{"exposure", keys{"max_retries": "3"}, []string{`max_retries is the text "3": write the number without quotes, 3`}},
		{"exposure", keys{"max_retries": "many"}, []string{`max_retries is the text "many": write a number such as 3`}},
		{"exposure", keys{"max_retries": false}, []string{"max_retries is false: write a number such as 3"}},
		{"exposure", keys{"max_retries": -1}, []string{"max_retries is -1: write 0 or more"}},
		{"exposure", keys{"task_count": 0.5}, []string{"task_count is 0.5: write a whole number"}},
		{"exposure", keys{"task_count": 1e300}, []string{"task_count is 1e+300: write a whole number"}},
		{"exposure", keys{"gpu_type": 4}, []string{`gpu_type is the number 4: write a text such as "nvidia-l4"`}},
		{"exposure", keys{"gpu_type": "None"}, []string{`gpu_type: "None" is no GPU type: write "none"`}},
		{"exposure", keys{"gpu_type": ""}, []string{`gpu_type: "" is no GPU type: write "none"`}},
		{"exposure", keys{"gpu_type": "nvidia-tesla-l4"}, []string{`write "nvidia-l4"`}},
		{"required_retries", keys{"work_time": "2h", "probability": "0.5"}, []string{`probability is the text "0.5": write the number without quotes, 0.5`}},
		{"required_retries", keys{"work_time": "2h", "probability": 0}, []string{"probability is 0: write a number between 0 and 1, such as 0.99"}},
		{"required_retries", keys{"work_time": "2h", "probability": 1}, []string{"probability is 1: no number of retries is certain"}},
		{"required_retries", keys{"work_time": "2h", "probability": 99.9}, []string{"write a number between 0 and 1, here 0.999"}},
		{"required_retries", keys{"work_time": "2h", "probability": 1e300}, []string{"probability is 1e+300: write a number between 0 and 1"}},
		{"required_retries", keys{"work_time": "0s"}, []string{`work_time: "0s" is not more than zero`}},
		{"required_retries", keys{"work_time": "2h", "interval": "0s"}, []string{`interval: "0s" is not more than zero`}},
		{"required_retries", keys{"work_time": "2h", "write_time": "-1s"}, []string{`write_time: "-1s" is less than zero: write "0s" or more`}},
		{"required_retries", keys{}, []string{"work_time is missing"}},
		{"required_retries", keys{"work_time": 7200, "restore_time": "1 min", "write_time": nil},
			[]string{`work_time is the number 7200`, ".\n", `restore_time: "1 min" is not a duration: write "1m"`}},
		{"required_retries", keys{"worktime": "2h", "timeout": "1h"},
			[]string{`"timeout" is not a key of this object; write task_timeout if that is meant`, `"worktime" is not a key of this object; write work_time if that is meant. The keys are work_time, task_timeout, interval,`}},
	} {
		_, text, at := c.call(t, test.name, value(test.arg))
		for _, want := range test.want {
			if !strings.Contains(text, want) || at != 0 {
				t.Errorf("%s(%v): %q at %d, want %q", test.name, test.arg, text, at, want)
			}
		}
	}
	// A key that is wrong is not also said to be missing.
	if _, text, _ := c.call(t, "required_retries", value(keys{"worktime": "2h"})); strings.Contains(text, "missing") {
		t.Errorf("two messages for one mistake: %q", text)
	}
}

func TestNearestKey(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	for _, test := range []struct{ name, key, want string }{
		{"required_retries", "workTime", "work_time"},
		{"required_retries", "work-time", "work_time"},
		{"required_retries", "work", "work_time"},
		{"required_retries", "task_timout", "task_timeout"},
		{"required_retries", "timeout", "task_timeout"},
		{"required_retries", "checkpoint_interval", "interval"},
		{"required_retries", "write", "write_time"},
		{"required_retries", "restore", "restore_time"},
		{"required_retries", "mean_time", "mean_time_between_interruptions"},
		{"required_retries", "Probability", "probability"},
		{"exposure", "retries", "max_retries"},
		{"exposure", "max_retry", "max_retries"},
		{"exposure", "count", "task_count"},
		{"exposure", "tasks", "task_count"},
		{"exposure", "gpu", "gpu_type"},
		{"exposure", "bucket", ""},
		{"exposure", "", ""},
		{"exposure", "日本", ""},
	} {
		_, text, _ := c.call(t, test.name, value(keys{test.key: "1h"}))
		_, after, _ := strings.Cut(text, "; write ")
		got, _, _ := strings.Cut(after, " if that is meant")
		if got != test.want || !strings.Contains(text, "The keys are ") {
			t.Errorf("%s: %q has the guess %q, want %q", test.name, text, got, test.want)
		}
	}
}

// anything draws a value of any kind, more often than not one that fits.
func anything(depth int) *rapid.Generator[tftypes.Value] {
	return rapid.Custom(func(t *rapid.T) tftypes.Value {
		kinds := []string{"duration", "duration", "number", "text", "whole", "bool", "null", "unknown", "open"}
		if depth > 0 {
			kinds = append(kinds, "object", "object", "object", "list", "set", "map", "tuple")
		}
		switch rapid.SampledFrom(kinds).Draw(t, "kind") {
		case "duration":
			return value(rapid.SampledFrom([]string{"1h", "12h", "60s", "0s", "-1m", "1ns", "2562047h", "90m", "7 days", "1d", "2h21m19s"}).Draw(t, "duration"))
		case "text":
			return value(rapid.String().Draw(t, "text"))
		case "number":
			return tftypes.NewValue(tftypes.Number, big.NewFloat(rapid.Float64Range(-1e300, 1e300).Draw(t, "number")))
		case "whole":
			return value(rapid.IntRange(-1, 12).Draw(t, "whole"))
		case "bool":
			return value(rapid.Bool().Draw(t, "bool"))
		case "null":
			return tftypes.NewValue(rapid.SampledFrom([]tftypes.Type{tftypes.String, tftypes.Number, tftypes.Bool}).Draw(t, "type"), nil)
		case "unknown":
			return tftypes.NewValue(rapid.SampledFrom([]tftypes.Type{tftypes.String, tftypes.Number, tftypes.Bool}).Draw(t, "type"), tftypes.UnknownValue)
		case "open":
			return tftypes.NewValue(tftypes.DynamicPseudoType, rapid.SampledFrom([]any{nil, tftypes.UnknownValue}).Draw(t, "open"))
		case "list":
			return tftypes.NewValue(tftypes.List{ElementType: tftypes.String}, []tftypes.Value{value(rapid.String().Draw(t, "element"))})
		case "set":
			return tftypes.NewValue(tftypes.Set{ElementType: tftypes.Number}, []tftypes.Value{value(rapid.IntRange(0, 9).Draw(t, "element"))})
		case "map":
			return tftypes.NewValue(tftypes.Map{ElementType: tftypes.String}, map[string]tftypes.Value{keyName.Draw(t, "key"): value(rapid.String().Draw(t, "element"))})
		case "tuple":
			return value([]any{anything(depth-1).Draw(t, "element")})
		}
		all := keys{}
		for range rapid.IntRange(0, 7).Draw(t, "keys") {
			all[keyName.Draw(t, "key")] = anything(depth-1).Draw(t, "value")
		}
		return value(all)
	})
}

var keyName = rapid.OneOf(rapid.SampledFrom([]string{"work_time", "task_timeout", "interval", "write_time", "restore_time",
	"mean_time_between_interruptions", "probability", "gpu_type", "task_count", "max_retries"}), rapid.String())

var ofTheProgram = regexp.MustCompile(`%!|<nil>|\bnil\b|tftypes|basetypes|panic|goroutine|Value Conversion|report`)

// Whatever is given, there is a result or one readable text, and no panic.
func TestAnyArgument(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	rapid.Check(t, func(t *rapid.T) {
		arg := anything(2).Draw(t, "argument")
		for _, name := range []string{"exposure", "required_retries"} {
			_, text, _ := c.call(t, name, arg)
			readable(t, text, arg)
		}
		texts := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"1h", "60s", "2562047h", "1ns", "0s", "-1h"}))
		write, mean := value(texts.Draw(t, "write")), value(texts.Draw(t, "mean"))
		_, text, _ := c.call(t, "checkpoint_interval", write, mean)
		readable(t, text, write)
	})
}

// readable holds a text to what Terraform makes of it: it goes on after a colon
// and gets a full stop.
func readable(t fails, text string, arg tftypes.Value) {
	t.Helper()
	switch {
	case text == "":
	case strings.HasSuffix(text, ".") || strings.HasPrefix(text, " "):
		t.Fatalf("%s: %q has a full stop of its own", arg, text)
	case !strings.Contains(arg.String(), "nil") && ofTheProgram.MatchString(regexp.MustCompile(`"([^"\\]|\\.)*"`).ReplaceAllString(text, "")):
		t.Fatalf("%s: %q shows something of the program", arg, text)
	}
}
