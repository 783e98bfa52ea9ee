"""Why a model is called and not walked."""

from fairshap.exceptions import FairshapError


class NotNativeError(FairshapError):
    """The model's trees cannot be walked; the text says why, and the model is called instead."""
