"""Whether the data contradict what an audit assumes, and what to do then."""
