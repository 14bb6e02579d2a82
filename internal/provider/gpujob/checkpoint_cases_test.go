// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob_test

import (
	"testing"
)

// case 112: a checkpoint that a framework writes out of order needs room beside
// the mount. What says so to gcsfuse reaches the job as it is written, in its
// order; the folder for it is a volume of the job's own.
func TestMountOptionsForRoom(t *testing.T) {
	t.Parallel()
	c := newCore(t)
	options := []string{"temp-dir=/scratch", "enable-streaming-writes=false", "cache-dir=/scratch/cache", "file-cache-max-size-mb=10240", "metadata-cache-ttl-secs=0"}
	config := c.job(attrs{
		"checkpoint": attrs{"bucket": "ckpt-one", "mount_options": options, "per_task": true},
		"volumes":    attrs{"scratch": attrs{"mount_path": "/scratch", "empty_dir": attrs{"medium": "memory"}}},
	})
	l := c.unchanged("at once", c.apply(c.none(), config), config)
	equal(t, "options", volumeOf(c.w.live(), "checkpoint").GetGcs().GetMountOptions(), options)
	equal(t, "path", mountIn(c.w.live(), "checkpoint").GetMountPath(), "/checkpoints")
	c.sees(c.w.job.Name, map[string]string{
		"checkpoint.mount_options": `["temp-dir=/scratch", "enable-streaming-writes=false", "cache-dir=/scratch/cache", "file-cache-max-size-mb=10240", "metadata-cache-ttl-secs=0"`,
	})
	c.destroy(l)
}
