"""expire: Step Functions -> Lambda."""
