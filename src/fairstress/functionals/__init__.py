"""Numbers of Model B: CFU, CFU less a baseline's, effects, turned decisions, any function of a frame."""
