"""What pytest meets: options, claims as items, what a run came to. Every hook stands in `plugin.py` and calls here.

Nothing is imported here: pytest loads the plugin in every project, so each module comes when it is needed.
"""
