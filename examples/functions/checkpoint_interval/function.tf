# Writing a checkpoint takes a minute, and an attempt may run for a week, as long
# as the platform lets it: the mean time counts, one interruption a week.
output "interval" {
  value = provider::resilientjob::checkpoint_interval("60s", "168h") # "2h21m19s"
}

# An attempt of 12 hours ends sooner than that.
output "interval_for_12h" {
  value = provider::resilientjob::checkpoint_interval("60s", "12h") # "37m17s"
}

# Small checkpoints are written often.
output "interval_for_10s" {
  value = provider::resilientjob::checkpoint_interval("10s", "12h") # "15m23s"
}
