"""The systems that can be tested, one file each, beside what several of them share."""
