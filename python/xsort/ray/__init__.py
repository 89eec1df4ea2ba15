"""The same sort on many machines, on Ray. Importing this doesn't import Ray."""
