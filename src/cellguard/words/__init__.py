"""What people read, in their language: one catalogue for pages, the studio, the terminal and messages."""
