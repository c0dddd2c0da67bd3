"""What an output folder of rounded tables holds inside."""
