// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package runner

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNamespaceMountIsAtItsAbsolutePath(t *testing.T) {
	t.Parallel()
	p := start(t, Options{Mode: ModeNamespace})
	for _, at := range []string{"/checkpoints", "/no/such/folder/on/the/host", "/checkpoints/"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			dir := folder(t)
			write(t, filepath.Join(dir, "before"), "from the host")
			task := shell(`cat "$1/before"; echo; echo "from the task" > "$1/after"; mkdir "$1/sub"; ls /`, at)
			task.Mounts = []Mount{{Path: at, HostDir: dir}}
			w := launch(t, p, task)
			w.await("stdout: from the host")
			w.expect(Result{})
			if got, err := os.ReadFile(filepath.Join(dir, "after")); err != nil || string(got) != "from the task\n" {
				t.Errorf("on the host: %q, %v", got, err)
			}
			if _, err := os.Stat(filepath.Join(dir, "sub")); err != nil {
				t.Error(err)
			}
			if _, err := os.Lstat(filepath.Clean(at)); err == nil {
				t.Errorf("%s was made on the host", at)
			}
			if slices.Contains(w.output(), "stdout: "+strings.TrimPrefix(hostRoot, "/")) {
				t.Error("the task sees the host's root")
			}
		})
	}
}

func TestNamespaceReadOnlyMount(t *testing.T) {
	t.Parallel()
	p := start(t, Options{Mode: ModeNamespace})
	dir, writable := folder(t), folder(t)
	write(t, filepath.Join(dir, "data"), "input")
	task := shell(`cat /data/data; echo; echo x > /data/new; echo x > /out/new; rm /data/data; chmod 777 /data/data; :`)
	task.Mounts = []Mount{{Path: "/data", HostDir: dir, ReadOnly: true}, {Path: "/out", HostDir: writable}}
	w := launch(t, p, task)
	w.expect(Result{})
	w.await("stdout: input")
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the read-only mount holds %v, %v", entries, err)
	}
	if n := strings.Count(strings.ToLower(strings.Join(w.output(), "\n")), "read-only file system"); n != 3 {
		t.Errorf("%d of 3 writes were refused:\n%s", n, strings.Join(w.output(), "\n"))
	}
	if _, err := os.Stat(filepath.Join(writable, "new")); err != nil {
		t.Error(err)
	}
}

// A folder of the host in which a mount path is missing is shown with everything that is in it, and nothing is made there.
func TestNamespaceMountInsideAFolderOfTheHost(t *testing.T) {
	t.Parallel()
	p := start(t, Options{Mode: ModeNamespace})
	host, dir, other := folder(t), folder(t), folder(t)
	write(t, filepath.Join(host, "file"), "of the host")
	write(t, filepath.Join(dir, "file"), "of the mount")
	write(t, filepath.Join(other, "file"), "of the other mount")
	if err := os.MkdirAll(filepath.Join(host, "there", "hidden"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", filepath.Join(host, "link")); err != nil {
		t.Fatal(err)
	}
	task := shell(`cd "$1"; cat file link missing/deep/file there/file; ls there missing; echo kept > there/new`, host)
	task.Mounts = []Mount{{Path: host + "/missing/deep", HostDir: dir}, {Path: host + "/there", HostDir: other}}
	w := launch(t, p, task)
	w.expect(Result{})
	want := []string{"stdout: of the hostof the hostof the mountof the other mountmissing:", "stdout: deep", "stdout: ", "stdout: there:", "stdout: file"}
	if diff := cmp.Diff(want, w.output()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	entries, err := os.ReadDir(host)
	if err != nil || len(entries) != 3 {
		t.Errorf("the host's folder holds %v, %v", entries, err)
	}
	if _, err := os.Stat(filepath.Join(other, "new")); err != nil {
		t.Error(err)
	}
}

func TestNamespaceMountPathThroughASymbolicLink(t *testing.T) {
	t.Parallel()
	p := start(t, Options{Mode: ModeNamespace})
	host, dir := folder(t), folder(t)
	write(t, filepath.Join(dir, "file"), "of the mount")
	if err := os.Mkdir(filepath.Join(host, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(host+"/real", filepath.Join(host, "link")); err != nil {
		t.Fatal(err)
	}
	task := shell(`cat "$1/link/ckpt/file" "$1/real/ckpt/file"`, host)
	task.Mounts = []Mount{{Path: host + "/link/ckpt", HostDir: dir}}
	w := launch(t, p, task)
	w.expect(Result{})
	w.await("stdout: of the mountof the mount")
}

func TestNamespaceMountPathOverAFileIsRefused(t *testing.T) {
	t.Parallel()
	p := start(t, Options{Mode: ModeNamespace})
	for at, want := range map[string]string{"/etc/passwd": "is a file on this machine", "/etc/passwd/below": "not a directory"} {
		task := shell("true")
		task.Mounts = []Mount{{Path: at, HostDir: folder(t)}}
		if _, err := p.Launch(task, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("mount at %s: %v, want %q", at, err, want)
		}
	}
}

func TestNamespaceWorkingDirMayBeAMount(t *testing.T) {
	t.Parallel()
	p := start(t, Options{Mode: ModeNamespace})
	task := shell("pwd; echo x > here")
	task.WorkingDir = "/checkpoints/run"
	dir := folder(t)
	if err := os.Mkdir(filepath.Join(dir, "run"), 0o755); err != nil {
		t.Fatal(err)
	}
	task.Mounts = []Mount{{Path: "/checkpoints", HostDir: dir}}
	w := launch(t, p, task)
	w.expect(Result{})
	w.await("stdout: /checkpoints/run")
	if _, err := os.Stat(filepath.Join(dir, "run", "here")); err != nil {
		t.Error(err)
	}
}

func TestNamespaceTaskMayWriteToItsOwnRootOnly(t *testing.T) {
	t.Parallel()
	p := start(t, Options{Mode: ModeNamespace})
	w := launch(t, p, shell("echo x > /written-by-a-task && cat /written-by-a-task"))
	w.expect(Result{})
	w.await("stdout: x")
	if _, err := os.Lstat("/written-by-a-task"); err == nil {
		t.Error("the file is on the host")
	}
}

func TestNamespaceTaskSeesItsOwnProcessesOnly(t *testing.T) {
	t.Parallel()
	p := start(t, Options{Mode: ModeNamespace})
	w := launch(t, p, shell(`for d in /proc/[0-9]*; do basename "$d"; done | sort -n | head -1; tr '\0' ' ' < /proc/1/cmdline; echo`))
	w.expect(Result{})
	w.await("stdout: 1")
	w.await("stdout: " + initName + " ")
}

func TestNamespaceCapabilitiesAreDropped(t *testing.T) {
	t.Parallel()
	p := start(t, Options{Mode: ModeNamespace})
	// util-linux's mount says no by itself when it is not root; the first line is the kernel's word.
	w := launch(t, p, shell(`grep -E '^(Cap...|NoNewPrivs):' /proc/self/status; id -u; mount -t tmpfs none /mnt && echo mounted; umount /proc && echo unmounted; :`))
	w.expect(Result{})
	sets, noNewPrivs := regexp.MustCompile(`^stdout: Cap(...):\s+0*([0-9a-f]+)$`), regexp.MustCompile(`^stdout: NoNewPrivs:\s+1$`)
	want := "0"
	if slices.Contains(w.output(), "stdout: 0") {
		want = "fb" // the numbers 0, 1 and 3 to 7: those in kept
	}
	wants := map[string]string{"Inh": "0", "Amb": "0", "Prm": want, "Eff": want, "Bnd": want}
	if want == "0" && os.Geteuid() != 0 {
		wants["Bnd"] = "0"
	}
	got := map[string]string{}
	privs := false
	for _, l := range w.output() {
		if m := sets.FindStringSubmatch(l); m != nil {
			got[m[1]] = m[2]
		}
		privs = privs || noNewPrivs.MatchString(l)
		if l == "stdout: mounted" || l == "stdout: unmounted" {
			t.Error("the task changed its mounts")
		}
	}
	if diff := cmp.Diff(wants, got); diff != "" {
		t.Errorf("capability sets (-want +got):\n%s", diff)
	}
	if !privs {
		t.Error("no_new_privs is not set")
	}
}

func TestNamespaceTaskIsTheEmulatorsUser(t *testing.T) {
	t.Parallel()
	p := start(t, Options{Mode: ModeNamespace})
	dir := folder(t)
	task := shell(`id -u; id -g; touch /checkpoints/mine; stat -c %u /checkpoints/mine`)
	task.Mounts = []Mount{{Path: "/checkpoints", HostDir: dir}}
	w := launch(t, p, task)
	w.expect(Result{})
	info, err := os.Stat(filepath.Join(dir, "mine"))
	if err != nil {
		t.Fatal(err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) != os.Geteuid() {
		t.Errorf("on the host the file belongs to %+v", info.Sys())
	}
}

// A user namespace in which no other may be made stands for a host that refuses them.
func TestFallsBackWhereNamespacesAreRefused(t *testing.T) {
	t.Parallel()
	start(t, Options{Mode: ModeNamespace})
	inside := func(mode string) string {
		cmd := exec.Command("sh", "-c", `echo 0 > /proc/sys/user/max_user_namespaces && exec "$0"`, os.Args[0])
		cmd.Env = append(os.Environ(), helperVariable+"=launch-one", "MODE="+mode, "SCRIPT=exit 7")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
		}
		out, err := cmd.CombinedOutput()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(out)
	}
	const why = "(the setting user.max_user_namespaces is 0 on this machine)"
	if got := inside(""); !strings.Contains(got, "ExitCode:7") || !strings.Contains(got, "mode rewrite user namespaces are refused: ") || !strings.Contains(got, why) {
		t.Errorf("without a wanted mode: %s", got)
	}
	if got := inside(ModeNamespace); !strings.Contains(got, "tasks cannot be started in namespaces of their own on this machine: ") || !strings.Contains(got, why) {
		t.Errorf("with mode namespace: %s", got)
	}
}

// Root's tests once more as an ordinary user, who gets a namespace in another way.
func TestAsAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("all tests of this package run as an ordinary user already: once more would show nothing else")
	}
	const nobody = 65534
	dir, err := os.MkdirTemp("", "runner-as-nobody-") //nolint:usetesting // t.TempDir is for root's eyes only
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "runner.test")
	// By another process: a program that this one writes cannot be started while one of its forks still has it open.
	if out, err := exec.Command("cp", os.Args[0], binary).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	as := func(helper string, args ...string) (string, error) {
		cmd := exec.Command(binary, args...)
		cmd.Dir = home
		cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home, "TMPDIR=" + home, helperVariable + "=" + helper, "MODE=" + ModeNamespace, "SCRIPT=true"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := as("launch-one")
	if strings.Contains(out, "tasks cannot be started in namespaces") {
		t.Skipf("this machine lets only root have namespaces of its own, and the emulator says so at its start: %s", out)
	}
	if err != nil {
		t.Fatalf("as uid %d: %v\n%s", nobody, err, out)
	}
	out, err = as("", "-test.run=^(TestNamespace|TestEndings|TestEnvironment|TestPreempted|TestIgnored|TestChildren|TestTasksDie|TestTwenty)", "-test.skip=/rewrite$", "-test.v")
	if err != nil {
		t.Fatalf("as uid %d: %v\n%s", nobody, err, out)
	}
	for _, want := range []string{"--- PASS: TestNamespaceMountIsAtItsAbsolutePath", "--- PASS: TestNamespaceCapabilitiesAreDropped", "--- PASS: TestTwentyInParallel/namespace"} {
		if !strings.Contains(out, want) {
			t.Errorf("as uid %d there is no %q:\n%s", nobody, want, out)
		}
	}
	if strings.Contains(out, "--- SKIP") {
		t.Errorf("as uid %d some tests were skipped:\n%s", nobody, out)
	}
}
