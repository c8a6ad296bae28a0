"""The rules of a task, pure: from its head, what was asked and the time to a change. Nothing here reads or writes."""
