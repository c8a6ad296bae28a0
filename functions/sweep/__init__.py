"""sweep: EventBridge schedule -> Lambda."""
