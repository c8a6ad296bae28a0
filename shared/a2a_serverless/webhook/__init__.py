"""What goes out to partners: which addresses may be dialled, what is signed, and HTTP that trusts no answer."""
