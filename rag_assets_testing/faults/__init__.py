"""What goes wrong in the field: kills, full disks, damaged files, lost servers, and edits."""
