"""One folder for each Lambda function, and the agents they host."""
