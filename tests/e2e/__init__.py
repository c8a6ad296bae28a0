"""End to end: the served stack, the official clients, and a partner that receives nudges."""
