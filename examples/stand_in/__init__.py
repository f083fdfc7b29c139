"""The parts of `chat_platform.py`. Law: they answer as the platform does, and import nothing of ours."""
