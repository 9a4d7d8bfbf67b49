"""This process: its memory, what runs beside it, how it is interrupted, and what day it is."""
