"""What a training would take on more devices than there are: predicted from what one device does here."""
