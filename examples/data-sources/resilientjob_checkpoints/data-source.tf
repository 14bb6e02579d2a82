# The newest checkpoint of each task. examples/apps/checkpointed-training writes them
# to RUN/task-N/step-NNNNNNNN.ckpt.
data "resilientjob_checkpoints" "train" {
  bucket  = "my-checkpoints"
  prefix  = "train"
  pattern = "task-{task}/step-*.ckpt"
}

# Saved every ten minutes, two checkpoints may fail before somebody is told. This is
# for while a run goes on: the guide "Monitoring and interruptions" asks for that first.
check "checkpoints_are_fresh" {
  assert {
    condition = alltrue([
      for c in data.resilientjob_checkpoints.train.checkpoints :
      timecmp(c.time, timeadd(plantimestamp(), "-30m")) > 0
    ])
    error_message = "No checkpoint for 30 minutes: ${join(", ", [
      for c in data.resilientjob_checkpoints.train.checkpoints :
      "task ${c.task_index} since ${c.time}" if timecmp(c.time, timeadd(plantimestamp(), "-30m")) <= 0
    ])}."
  }
}

# A task that has never saved is not in the list.
check "every_task_has_saved" {
  assert {
    condition     = length(data.resilientjob_checkpoints.train.checkpoints) == 4
    error_message = "Only ${length(data.resilientjob_checkpoints.train.checkpoints)} of 4 tasks have a checkpoint."
  }
}
