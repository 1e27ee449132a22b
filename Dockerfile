# SPDX-License-Identifier: Apache-2.0
# JupyterLab with the patched kernel built in; also what Binder builds. Debian, because the kernel's source comes from
# its security archive, and micromamba, so that Python comes from environment.yml as everywhere else.
FROM mambaorg/micromamba:2.0.5-debian12-slim

ARG NB_USER=jovyan
ARG NB_UID=1000

USER root
COPY tools/system-packages tools/bmv2 /tmp/
RUN /tmp/system-packages \
    && apt-get install -y -q --no-install-recommends git \
    && apt-get clean && rm -rf /var/lib/apt/lists/* /tmp/system-packages

# BMv2 and p4c are not in Debian but with the P4 project. Where its packages cannot be had, the script says why, everything
# else works, and `switch: bmv2` says what is missing. Another source: --build-arg P4LANG=... --build-arg P4LANG_KEY=...
ARG P4LANG=
ARG P4LANG_KEY=
# status 1: the packages cannot be had here, and it has said why
RUN { /tmp/bmv2 || [ $? -eq 1 ]; } && apt-get clean && rm -rf /var/lib/apt/lists/* /tmp/bmv2

# Binder wants a user of this name and number; the base image has one of that number already
RUN if getent passwd ${NB_UID} >/dev/null; then userdel -r "$(getent passwd ${NB_UID} | cut -d: -f1)" || true; fi \
    && useradd --create-home --shell /bin/bash --uid ${NB_UID} ${NB_USER}
ENV USER=${NB_USER} NB_UID=${NB_UID} HOME=/home/${NB_USER}
WORKDIR ${HOME}/rdcnlab

COPY --chown=${NB_UID} environment.yml requirements.lock requirements-ns3.lock ./
# The lock is complete, and deliberately without what os-ken asks for in vain (pyproject.toml): pip adds nothing to it.
# TensorFlow's headers and libclang are for those who compile with TensorFlow; they take 350 MB.
RUN PIP_NO_DEPS=1 PIP_NO_CACHE_DIR=1 micromamba install -y -n base -f environment.yml && micromamba clean -a -y \
    && rm -rf /opt/conda/lib/python3.11/site-packages/tensorflow/include \
              /opt/conda/lib/python3.11/site-packages/clang/native \
    && chown -R ${NB_UID} ${HOME}
ENV PATH=/opt/conda/bin:${PATH}
RUN pip install --no-cache-dir --no-deps --require-hashes -r requirements-ns3.lock

COPY --chown=${NB_UID} . .
RUN pip install --no-deps --no-build-isolation -e . -e ./lib && chown -R ${NB_UID} ${HOME}

USER ${NB_USER}
# without the kernel's tree (500 MB), which only C files of a user's own need: the first one makes it again
RUN rdcnlab kernel build && rm -r "${HOME}"/.cache/rdcnlab/kernels/*.tree

EXPOSE 8888
# executes its arguments, as Binder asks
ENTRYPOINT ["/home/jovyan/rdcnlab/tools/entrypoint"]
# without a browser, a notebook as argument would not be opened
CMD ["jupyter", "lab", "--ip=0.0.0.0", "--no-browser", "--LabApp.default_url=/lab/tree/notebooks/index.ipynb"]
