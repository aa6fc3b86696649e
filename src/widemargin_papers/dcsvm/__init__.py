"""Hsieh, Si and Dhillon (2014): a divide-and-conquer solver for kernel SVMs."""
