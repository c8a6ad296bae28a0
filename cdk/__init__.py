"""The stack, a module for each hop. It sees `a2a_serverless.aws.settings`, and nothing else of the kit."""
