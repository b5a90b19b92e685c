"""scikit-learn's interface: networks, ensembles of them and the classical methods in pipelines and searches."""

from lamina.estimators.classical import PCA as PCA
from lamina.estimators.classical import KMeans as KMeans
from lamina.estimators.classical import LinearRegression as LinearRegression
from lamina.estimators.classical import PolynomialRegression as PolynomialRegression
from lamina.estimators.ensembles import EnsembleClassifier as EnsembleClassifier
from lamina.estimators.ensembles import EnsembleRegressor as EnsembleRegressor
from lamina.estimators.networks import NetworkClassifier as NetworkClassifier
from lamina.estimators.networks import NetworkRegressor as NetworkRegressor
from lamina.estimators.search import LaminaSearchCV as LaminaSearchCV
from lamina.estimators.sequences import SequenceClassifier as SequenceClassifier
