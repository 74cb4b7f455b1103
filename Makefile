# make run   opens the studio          make test   checks everything          make clean   removes the environment
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
# Quiet, reproducible, and never a newer torch than the pinned one.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: run test browser clean

run: $(VENV)/run.done
	$(BIN)/python -m realign doctor --fetch
	$(BIN)/python app.py

test: $(VENV)/test.done browser
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m pytest

# The system's Chromium where there is one, else the one that Playwright brings.
browser: $(VENV)/test.done
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
	  (command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq chromium >/dev/null) || \
	  $(BIN)/python -m playwright install chromium

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.done: requirements.txt | $(VENV)/bin/python
	$(PIP) -r requirements.txt
	touch $@

$(VENV)/test.done: requirements.txt requirements-dev.txt | $(VENV)/bin/python
	$(PIP) -r requirements-dev.txt
	touch $@ $(VENV)/run.done

clean:
	rm -rf $(VENV)
