# ReAlign Studio as a container or a Docker Space: user 1000, port 7860, the embedded model baked in.
FROM python:3.11-slim

RUN useradd --create-home --uid 1000 studio
USER studio
WORKDIR /home/studio/app
ENV PATH=/home/studio/.local/bin:$PATH \
    REALIGN_HOME=/home/studio/data \
    REALIGN_MODEL_CACHE=/home/studio/models \
    GRADIO_SERVER_NAME=0.0.0.0 \
    GRADIO_SERVER_PORT=7860 \
    PYTHONUNBUFFERED=1

# The CPU build of torch keeps the image small; leave the line out for CUDA.
RUN pip install --no-cache-dir --user torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu
COPY --chown=studio requirements.txt .
RUN pip install --no-cache-dir --user -r requirements.txt
COPY --chown=studio . .
RUN mkdir -p "$REALIGN_HOME" && python -m realign doctor --fetch

VOLUME /home/studio/data
EXPOSE 7860
HEALTHCHECK --start-period=60s --interval=30s --timeout=5s \
  CMD python -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:7860/healthz', timeout=4)"
CMD ["python", "app.py"]
