"""relay: DynamoDB Streams -> Lambda."""
