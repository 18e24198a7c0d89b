"""The question: CFU as a function of the correlation, and what is made of it."""
