"""run_turn: SQS `turns` -> Lambda."""
