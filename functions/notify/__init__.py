"""notify: SQS `nudges` -> Lambda."""
