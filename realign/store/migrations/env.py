"""Alembic runs this; the connection comes from `realign.store.engine`, whose transaction holds the whole upgrade."""

from alembic import context

from realign.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
context.run_migrations()
