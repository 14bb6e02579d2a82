// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// namespace is how this machine lets the emulator make user, mount and PID namespaces.
type namespace struct {
	uids, gids []syscall.SysProcIDMap
	setgroups  bool
}

// attributes are for starting a task's parent; a nil receiver means without namespaces.
func (n *namespace) attributes() *syscall.SysProcAttr {
	if n == nil {
		return &syscall.SysProcAttr{}
	}
	return &syscall.SysProcAttr{
		Cloneflags:                 unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID,
		UidMappings:                n.uids,
		GidMappings:                n.gids,
		GidMappingsEnableSetgroups: n.setgroups,
		// A process that is not uid 0 in its namespace loses what it holds there at exec, unless it is ambient.
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP},
	}
}

// probeNamespace builds a namespace once, in full, and returns the way that worked.
func probeNamespace() (*namespace, error) {
	self := func(id int) []syscall.SysProcIDMap {
		return []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
	}
	// Users keep their numbers, so that a task is who the emulator is, and files belong to whom they belong.
	ways := []*namespace{{uids: self(os.Geteuid()), gids: self(os.Getegid())}}
	if os.Geteuid() == 0 {
		// Root may map every user it knows: a task may then change files of others, and change its user, as in a container.
		uids, uidErr := identity("/proc/self/uid_map")
		gids, gidErr := identity("/proc/self/gid_map")
		if uidErr == nil && gidErr == nil {
			ways = append([]*namespace{{uids: uids, gids: gids, setgroups: true}}, ways...)
		}
	}
	var err error
	for _, way := range ways {
		if err = way.probe(); err == nil {
			return way, nil
		}
	}
	return nil, err
}

// identity maps every id of this process's own user namespace to itself.
func identity(file string) ([]syscall.SysProcIDMap, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var maps []syscall.SysProcIDMap
	for line := range strings.Lines(string(content)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			return nil, fmt.Errorf("%s has the line %q", file, line)
		}
		first, err1 := strconv.Atoi(f[0])
		size, err2 := strconv.ParseUint(f[2], 10, 32)
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("%s has the line %q", file, line)
		}
		maps = append(maps, syscall.SysProcIDMap{ContainerID: first, HostID: first, Size: int(min(size, math.MaxInt))})
	}
	return maps, nil
}

const (
	probeTarget = "/resilientjob-probe/mount"
	probeFile   = "file"
	probeLimit  = 30 * time.Second
)

func (n *namespace) probe() error {
	dir, err := os.MkdirTemp("", "resilientjob-probe-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, probeFile), nil, 0o600); err != nil {
		return err
	}
	p, err := startProcess(spec{Probe: true, Mounts: []Mount{{Path: probeTarget, HostDir: dir}}}, n, newLines(func(string, string) {}))
	if err != nil {
		return hint(fmt.Errorf("user namespaces are refused: %w", err))
	}
	select {
	case <-p.gone():
	case <-time.After(probeLimit):
		p.kill()
		<-p.gone()
		return fmt.Errorf("building a namespace took longer than %s", probeLimit)
	}
	if failure := p.ending().failure; failure != "" {
		return hint(errors.New(failure))
	}
	if p.ending() != (ending{}) {
		return errors.New("the process that builds a namespace was killed")
	}
	return nil
}

// hint adds what a person can change.
func hint(err error) error {
	for _, setting := range []struct{ name, off string }{
		{"user.max_user_namespaces", "0"},
		{"kernel.unprivileged_userns_clone", "0"},
		{"kernel.apparmor_restrict_unprivileged_userns", "1"},
	} {
		content, readErr := os.ReadFile("/proc/sys/" + strings.ReplaceAll(setting.name, ".", "/"))
		if readErr == nil && strings.TrimSpace(string(content)) == setting.off {
			return fmt.Errorf("%w (the setting %s is %s on this machine)", err, setting.name, setting.off)
		}
	}
	return err
}

// hostRoot is where the host's root stays visible while the new one is being built.
const hostRoot = "/.resilientjob-host"

// enterNamespace gives this process, which is PID 1 of fresh namespaces, the task's root and takes its capabilities away.
//
// The new root is a memory file system, so that a mount path can be made in it although the host's root is not writable.
// It becomes the root first, and is filled from the old one after that: so no folder of the host is needed to build it in.
func enterNamespace(mounts []Mount) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making the mounts private: %w", err)
	}
	mask := unix.Umask(0)
	base, err := anyFolder()
	if err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", base, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755"); err != nil {
		return fmt.Errorf("mounting a memory file system: %w", err)
	}
	if err := os.Mkdir(base+hostRoot, 0o700); err != nil {
		return err
	}
	if err := unix.PivotRoot(base, base+hostRoot); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if err := mirror("", mounts); err != nil {
		return err
	}
	for _, m := range mounts {
		if err := os.MkdirAll(m.Path, 0o755); err != nil {
			return fmt.Errorf("making the mount path %s: %w", m.Path, err)
		}
		if err := bind(hostRoot+m.HostDir, m.Path, m.ReadOnly); err != nil {
			return fmt.Errorf("mounting %s at %s: %w", m.HostDir, m.Path, err)
		}
	}
	if err := unix.Unmount(hostRoot, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leaving the host's root: %w", err)
	}
	if err := os.Remove(hostRoot); err != nil {
		return err
	}
	unix.Umask(mask)
	return dropCapabilities()
}

// anyFolder is a folder that the new root is put over for a moment, in this namespace only.
func anyFolder() (string, error) {
	for _, dir := range []string{"/tmp", "/mnt", "/var", "/usr"} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir, nil
		}
	}
	return "", errors.New("this machine has none of the folders /tmp, /mnt, /var and /usr")
}

// mirror makes every entry of the host's folder dir ("" is the root) visible in the new one, which exists and is empty. Most
// are bound as a whole. A folder in which a mount path is missing is made anew and mirrored itself, for in a bound one
// the path would be made on the host's disk.
func mirror(dir string, mounts []Mount) error {
	entries, err := os.ReadDir(hostRoot + dir + "/")
	if err != nil {
		return fmt.Errorf("a mount path cannot be made below %s/: %w", dir, errors.Unwrap(err))
	}
	for _, e := range entries {
		to := dir + "/" + e.Name()
		from := hostRoot + to
		switch {
		case to == hostRoot:
		case to == "/proc":
			err = mountProc(from, to)
		case e.Type()&fs.ModeSymlink != 0:
			var target string
			if target, err = os.Readlink(from); err == nil {
				err = os.Symlink(target, to)
			}
		case e.IsDir() && missingBelow(to, mounts):
			info, infoErr := e.Info()
			if infoErr != nil {
				return infoErr
			}
			if err = os.Mkdir(to, info.Mode().Perm()|0o700); err == nil {
				err = mirror(to, mounts)
			}
		case e.IsDir():
			if err = os.Mkdir(to, 0o755); err == nil {
				err = bind(from, to, false)
			}
		default:
			if err = os.WriteFile(to, nil, 0o600); err == nil {
				err = bind(from, to, false)
			}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // an entry may go while we look
			return fmt.Errorf("showing %s to the task: %w", to, err)
		}
	}
	return nil
}

// missingBelow tells whether the path of a mount lies below dir and does not exist on the host.
func missingBelow(dir string, mounts []Mount) bool {
	for _, m := range mounts {
		if m.Path != dir && within(m.Path, dir) {
			if _, err := os.Lstat(hostRoot + m.Path); errors.Is(err, fs.ErrNotExist) {
				return true
			}
		}
	}
	return false
}

// mountProc shows only the task's own processes. Where the host hides parts of its own /proc, as containers do, the kernel
// refuses a new one, and the host's is shown.
func mountProc(from, to string) error {
	if err := os.Mkdir(to, 0o555); err != nil {
		return err
	}
	err := unix.Mount("proc", to, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	if errors.Is(err, unix.EPERM) {
		err = bind(from, to, false)
	}
	return err
}

// bind shows from, with everything mounted in it, at to.
func bind(from, to string, readOnly bool) error {
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	if !readOnly {
		return nil
	}
	var stat unix.Statfs_t
	if err := unix.Statfs(to, &stat); err != nil {
		return err
	}
	// Restrictions that the host's mount has cannot be lifted here; leaving one out would be refused.
	flags := uintptr(stat.Flags) & (unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_NOATIME | unix.MS_NODIRATIME)
	if stat.Flags&unix.ST_RELATIME != 0 {
		flags |= unix.MS_RELATIME
	}
	return unix.Mount("", to, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|flags, "")
}

// kept are the capabilities that a task of root keeps: those over files, users and processes that root of a container has.
// None lets it mount. A task of an ordinary user keeps none.
var kept = []uint{unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_KILL, unix.CAP_SETGID, unix.CAP_SETUID}

// dropCapabilities works on the calling thread, and on what that thread starts.
func dropCapabilities() error {
	var keep uint64
	if os.Geteuid() == 0 {
		for _, c := range kept {
			keep |= 1 << c
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clearing ambient capabilities: %w", err)
	}
	for c := uint(0); c < 64; c++ {
		if keep&(1<<c) != 0 {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break // beyond the last one that this kernel knows
		}
		if err != nil {
			return fmt.Errorf("dropping capability %d: %w", c, err)
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	low, high := uint32(keep&math.MaxUint32), uint32(keep>>32)
	data := [2]unix.CapUserData{{Effective: low, Permitted: low}, {Effective: high, Permitted: high}}
	if err := unix.Capset(&header, &data[0]); err != nil {
		return fmt.Errorf("dropping capabilities: %w", err)
	}
	return nil
}

// checkNamespace is what the probe does in place of a task.
func checkNamespace(mounts []Mount) error {
	for _, m := range mounts {
		if _, err := os.Stat(path.Join(m.Path, probeFile)); err != nil {
			return fmt.Errorf("a file of a mount is not visible: %w", err)
		}
	}
	if err := unix.Mount("tmpfs", "/tmp", "tmpfs", 0, ""); err == nil {
		return errors.New("the capability to mount could not be dropped")
	}
	return nil
}
