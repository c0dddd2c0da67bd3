"""Records and their roles: from files and frames to records summed by leaf codes and holding."""
